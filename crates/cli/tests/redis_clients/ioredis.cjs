// ioredis as a test drives it: a JSON object on each line of stdin, and one on stdout for each.
'use strict';

const readline = require('node:readline');
const { Redis, ReplyError } = require('ioredis');

let client; // The one client, which connects again by itself.

const doing = {
  async connect({ port, protocol, password, name }) {
    client = new Redis({
      host: '127.0.0.1',
      port,
      protocol,
      ...(protocol === 3 && { replyMapping: 'resp3' }),
      password: password ?? undefined,
      connectionName: name ?? undefined,
      lazyConnect: true,
      retryStrategy: (attempt) => (attempt > 100 ? null : 50),
      maxRetriesPerRequest: 100,
    });
    // Why it cannot connect is an event; what was asked meanwhile only learns that it did not.
    let why;
    client.on('error', (error) => (why = error));
    try {
      await client.connect();
      return await client.ping();
    } catch (error) {
      throw why ?? error;
    }
  },
  ask: ({ words }) => client.call(...words),
  async pipeline({ requests }) {
    const replies = await client.pipeline(requests.map((words) => ['call', ...words])).exec();
    return replies.map(([error, reply]) => told(error ?? reply));
  },
  async transaction({ requests }) {
    const replies = await client.multi(requests.map((words) => ['call', ...words])).exec();
    return replies.map(([error, reply]) => told(error ?? reply));
  },
};

function told(reply) {
  if (reply instanceof ReplyError) return { error_reply: reply.message };
  if (reply instanceof Error) return { failure: String(reply) };
  return { reply };
}

readline.createInterface({ input: process.stdin }).on('line', async (line) => {
  const order = JSON.parse(line);
  const answer = await Promise.resolve()
    .then(() => doing[order.do](order))
    .catch((error) => error);
  console.log(JSON.stringify(told(answer)));
}).on('close', () => process.exit(0));
