/** A connection between the browser and the service that a test can cut: the service and its sessions go on. */

import { connect, createServer, type Server as Listener, type Socket } from 'node:net';
import type { Server } from './server.ts';

export class Relay {
  #open = new Set<Socket>();
  #port = 0;
  #listener: Listener;

  private constructor(private readonly server: Server) {
    this.#listener = this.#listen();
  }

  static async to(server: Server): Promise<Relay> {
    const relay = new Relay(server);
    await relay.resume();
    return relay;
  }

  /** The same service, by way of this relay. */
  get through(): Server {
    const admin = `http://127.0.0.1:${this.#port}`;
    return { admin, token: this.server.token, log: this.server.log } as Server;
  }

  /** Ends every connection, and takes no more. */
  cut(): void {
    this.#listener.close();
    for (const socket of this.#open) socket.destroy();
  }

  /** Takes connections at the same port as before. */
  async resume(): Promise<void> {
    this.#listener = this.#listen();
    await new Promise<void>((resolve) => this.#listener.listen(this.#port, '127.0.0.1', resolve));
    const address = this.#listener.address();
    this.#port = typeof address === 'object' && address !== null ? address.port : 0;
  }

  #listen(): Listener {
    return createServer((theirs) => {
      const ours = connect(Number(new URL(this.server.admin).port), '127.0.0.1');
      for (const [one, other] of [
        [theirs, ours],
        [ours, theirs],
      ] as const) {
        this.#open.add(one);
        one.pipe(other);
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.#open.delete(one);
          other.destroy();
        });
      }
    });
  }
}
