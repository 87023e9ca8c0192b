/**
 * A real service on free ports, with a policy and records of its own in a temporary folder. It ends with whoever started it, and keeps its
 * ports over a restart.
 */

import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Setup {
  /** In YAML. */
  readonly policy: string;
  /** Without a token in the database, the token is the viewer token of the start. */
  readonly hasToken?: boolean;
  readonly playground?: 'open' | 'signed-in';
}

const PROGRAM =
  process.env.TOLLGATE_BIN ?? fileURLToPath(new URL('../../../target/debug/tollgate', import.meta.url));
const START_MS_MAX = 30_000;
const LOG_LINES_MAX = 400;

/** The program is ended when nobody holds the other end of the shell's input any more, however we end. */
const LEASH = '"$@" </dev/null & program=$!; cat >/dev/null; kill "$program" 2>/dev/null; wait "$program"';

export class Server {
  /** Where the page is. */
  admin = '';
  /** Where clients ask. */
  http = '';
  token: string;
  #folder = mkdtempSync(join(tmpdir(), 'tollgate-browser-'));
  #shell: ChildProcess | undefined;
  #log: string[] = [];

  private constructor(private readonly setup: Setup) {
    writeFileSync(join(this.#folder, 'policy.yaml'), setup.policy);
    this.token = setup.hasToken === false ? '' : this.makeToken('admin');
  }

  static async start(setup: Setup): Promise<Server> {
    const server = new Server(setup);
    await server.#run('127.0.0.1:0', '127.0.0.1:0');
    return server;
  }

  /** What the program said, at most its last few hundred lines. */
  get log(): string {
    return this.#log.join('\n');
  }

  /** A token on record; it may be made while the service runs. */
  makeToken(role: 'viewer' | 'operator' | 'admin'): string {
    const made = this.#ask('token', 'create', '--role', role, '--name', `browser-${role}`, '-o', 'json');
    return (JSON.parse(made) as { secret: string }).secret;
  }

  async stop(): Promise<void> {
    await this.halt();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Ends the program and keeps its folder. */
  async halt(): Promise<void> {
    const shell = this.#shell;
    if (!shell || shell.exitCode !== null) return;
    const ended = new Promise((resolve) => shell.once('exit', resolve));
    shell.stdin?.end();
    await ended;
  }

  /** Starts again what was halted, on the same ports. */
  async resume(): Promise<void> {
    await this.#run(new URL(this.http).host, new URL(this.admin).host);
  }

  /** The viewer token that the service keeps in its state directory. */
  #startToken(): string {
    const file = join(this.#folder, `admin-${new URL(this.admin).port}.token`);
    return readFileSync(file, 'utf8').trimEnd();
  }

  #ask(...words: string[]): string {
    const env = environment(this.#folder);
    return execFileSync(PROGRAM, [...words, ...this.#records()], { env, encoding: 'utf8', stdio: 'pipe' });
  }

  #records(): string[] {
    return ['--records', `sqlite:${join(this.#folder, 'records.db')}`, '--state-dir', this.#folder];
  }

  async #run(http: string, admin: string): Promise<void> {
    const doors = ['--http', http, '--admin', admin, '--resp', 'off', '--log', 'json', '--grace', '1s'];
    const others = ['--policy', join(this.#folder, 'policy.yaml'), ...this.#records()];
    const playground = ['--playground', this.setup.playground ?? 'signed-in'];
    const words = ['-c', LEASH, 'sh', PROGRAM, 'serve', ...doors, ...others, ...playground];
    const shell = spawn('/bin/sh', words, { env: environment(this.#folder), stdio: 'pipe' });
    this.#shell = shell;
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => {
        reject(new Error(`${PROGRAM} is not ready after ${START_MS_MAX} ms; it said:\n${this.log}`));
      }, START_MS_MAX);
      const hear = lines((line) => {
        if (this.#note(line)) {
          clearTimeout(late);
          resolve();
        }
      });
      shell.stdout.on('data', hear);
      shell.stderr.on('data', hear);
    });
    if (this.setup.hasToken === false) this.token = this.#startToken();
  }

  /** Whether this line says that all doors are open. */
  #note(line: string): boolean {
    this.#log.push(line);
    if (this.#log.length > LOG_LINES_MAX) this.#log.shift();
    let said: { message?: string; door?: string; address?: string };
    try {
      said = JSON.parse(line) as typeof said;
    } catch {
      return false;
    }
    if (said.door === 'http') this.http = said.address ?? '';
    if (said.door === 'admin') this.admin = said.address ?? '';
    return said.message === 'tollgate is ready';
  }
}

/** Nothing that whoever runs the tests has set for a service of their own. */
function environment(home: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(TOLLGATE_|OTEL_|REDIS_URL$|DATABASE_URL$|RUST_LOG$)/.test(name),
  );
  return { ...Object.fromEntries(own), HOME: home };
}

/** Calls back for each whole line of what arrives in pieces. */
function lines(told: (line: string) => void): (piece: Buffer) => void {
  let rest = '';
  return (piece) => {
    const parts = (rest + piece.toString()).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) told(part);
  };
}
