import { beforeAll, describe, expect } from 'vitest';
import { Server } from './support/server.ts';
import { test } from './support/visit.ts';

const POLICY = 'rules: [{name: per-user, scope: user, rate: 5/s, burst: 10}]';

describe('with a token', () => {
  let server: Server;
  beforeAll(async () => {
    server = await Server.start({ policy: POLICY });
    return () => server.stop();
  });

  test('a wrong token is refused, and the page says why', async ({ open }) => {
    const page = await open(server, '/rules', { isSignedIn: false });
    await page.getByLabel('Token').fill('tg_0000000000000000_this-one-nobody-made');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Not signed in').waitFor();
    expect(await page.getByRole('main').innerText()).toContain('there is no such token');
    expect(await page.getByLabel('Token').inputValue()).toBe('');
    expect(await page.context().cookies()).toEqual([]);
  });

  test('a right token shows the page that was asked for, and no script can read the cookie', async ({
    open,
  }) => {
    const page = await open(server, '/rules', { isSignedIn: false });
    await page.getByLabel('Token').fill(server.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'per-user' }).waitFor();
    expect(await page.getByRole('banner').innerText()).toContain('browser-admin · admin');

    const [cookie, ...others] = await page.context().cookies();
    expect(others).toEqual([]);
    expect(cookie).toMatchObject({
      name: expect.stringMatching(/^tollgate_session_\d+$/),
      httpOnly: true,
      sameSite: 'Strict',
      path: '/',
    });
    expect(cookie?.value).not.toContain(server.token);
    const kept = await page.evaluate(() =>
      JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]),
    );
    expect(kept).not.toContain('tollgate_session');
    expect(kept).not.toContain(server.token);
  });

  test('a reload stays signed in; a sign-out ends the session itself, not only the cookie', async ({
    open,
  }) => {
    const page = await open(server, '/rules');
    await page.reload();
    await page.getByRole('link', { name: 'per-user' }).waitFor();
    const [cookie] = await page.context().cookies();

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();

    const headers = { cookie: `${cookie?.name}=${cookie?.value}` };
    expect((await fetch(`${server.admin}/admin/v1/whoami`, { headers })).status).toBe(401);
  });

  test('a link that has the token signs in, and the token leaves the address', async ({ open }) => {
    const page = await open(server, `/#sign-in=${server.token}`, { isSignedIn: false });
    await page.getByRole('heading', { name: 'Live', exact: true }).waitFor();
    expect(page.url()).toBe(`${server.admin}/`);
    expect(await page.context().cookies()).toHaveLength(1);
  });

  test('a link with a wrong token shows the sign-in, and why', async ({ open }) => {
    const page = await open(server, '/#sign-in=tg_0000000000000000_nobody', { isSignedIn: false });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByText('there is no such token').waitFor();
    expect(page.url()).toBe(`${server.admin}/`);
  });

  test('a link that has the token signs in where the page is open already', async ({ open }) => {
    const page = await open(server, '/rules', { isSignedIn: false });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.evaluate((token) => location.assign(`#sign-in=${token}`), server.token);
    await page.getByRole('link', { name: 'per-user' }).waitFor();
    expect(page.url()).toBe(`${server.admin}/rules`);
  });

  test('a link asks before it replaces a session', async ({ open }) => {
    const other = server.makeToken('operator');
    const page = await open(server, '/rules');
    await page.getByRole('link', { name: 'per-user' }).waitFor();
    const follow = (): Promise<void> => page.evaluate((token) => location.assign(`#sign-in=${token}`), other);
    const who = async (): Promise<string> => page.getByRole('banner').innerText();
    const dialog = page.getByRole('dialog', { name: 'Replace your session?' });

    await follow();
    await dialog.waitFor();
    expect(page.url()).toBe(`${server.admin}/rules`);
    const text = await dialog.innerText();
    expect(text).toContain('browser-admin');
    expect(text).toContain(other.split('_')[1]);
    expect(text).not.toContain(other);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.reload();
    await page.getByRole('link', { name: 'per-user' }).waitFor();
    expect(await who()).toContain('browser-admin · admin');

    await follow();
    await dialog.getByRole('button', { name: 'Replace' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByText('browser-operator · operator').waitFor();

    // A link with the token of the session itself replaces nothing.
    await follow();
    await page.waitForURL(`${server.admin}/rules`);
    await page.getByText('browser-operator · operator').waitFor();
    expect(await dialog.count()).toBe(0);
  });

  test('a link replaces no session that the page could not look up', async ({ open }) => {
    const page = await open(server, '/rules');
    await page.getByRole('link', { name: 'per-user' }).waitFor();
    let isBusy = true;
    await page.route('**/admin/v1/whoami', (route) =>
      isBusy ? route.fulfill({ status: 503 }) : route.continue(),
    );
    let signIns = 0;
    await page.route('**/admin/v1/session', (route) => {
      signIns += 1;
      return route.continue();
    });
    await page.goto(`${server.admin}/clients#sign-in=tg_0000000000000001_a-token-of-another-client`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    isBusy = false;
    await page.reload();
    await page.getByRole('banner').getByText('browser-admin · admin').waitFor();
    expect(signIns).toBe(0);
  });

  test('a token that is revoked takes its sessions with it', async ({ open }) => {
    const token = server.makeToken('viewer');
    const page = await open(server, '/rules', { isSignedIn: false });
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'per-user' }).waitFor();

    const id = token.split('_')[1];
    const headers = { authorization: `Bearer ${server.token}` };
    const revoked = await fetch(`${server.admin}/admin/v1/tokens/${id}`, { method: 'DELETE', headers });
    expect(revoked.ok).toBe(true);
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
});

describe('without any token', () => {
  let server: Server;
  beforeAll(async () => {
    server = await Server.start({ policy: POLICY, hasToken: false });
    return () => server.stop();
  });

  test('the viewer token of the start signs in, and is offered nothing to change', async ({ open }) => {
    const page = await open(server, '/rules/per-user', { isSignedIn: false });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByLabel('Token').fill(server.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('region', { name: 'Text of the rule' }).waitFor();
    expect(await page.getByRole('banner').innerText()).toContain('start · viewer');
    expect(await page.getByRole('button', { name: 'Edit…' }).count()).toBe(0);
  });

  test('the link that the banner prints signs in', async ({ open }) => {
    const page = await open(server, `/#sign-in=${server.token}`, { isSignedIn: false });
    await page.getByRole('heading', { name: 'Live', exact: true }).waitFor();
    expect(page.url()).toBe(`${server.admin}/`);
  });

  test('the log holds no token', () => {
    expect(server.token).toMatch(/^tg_start_/);
    expect(server.log).not.toContain('tg_start_');
  });
});
