// A service that Tollgate limits: GET / and POST /login.
import express from 'express';
import { tollgate } from './tollgate.js';

const app = express();
// Behind a proxy, name it: app.set('trust proxy', 'loopback'). Else req.ip is the address of the socket.
app.use(tollgate({ url: process.env.TOLLGATE_URL, headers: ['x-api-key'], failClosed: process.env.FAIL_CLOSED === '1' }));
app.get('/', (req, res) => res.send('hello\n'));
app.post('/login', (req, res) => res.send('welcome\n'));

const server = app.listen(process.env.PORT ?? 3000, '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
