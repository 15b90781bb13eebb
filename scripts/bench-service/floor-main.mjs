// Child process: what the rows of the store cost alone. A bare Express handler writes the rows of a run that is accepted (its own,
// what was asked, its first event, who asked) and reads those that a status is made of.
import { ExpressAdapter } from '@nestjs/platform-express';
import { openPostgresStore } from '../../dist/src/store/postgres.js';
import { openSqliteStore } from '../../dist/src/store/sqlite.js';

const [database] = process.argv.slice(2);
const { runs, audit } = await (database.startsWith('file:')
  ? openSqliteStore(database.slice('file:'.length))
  : openPostgresStore(database));
const adapter = new ExpressAdapter();
adapter.useBodyParser('json', false, { limit: '10mb' });
const app = adapter.getInstance();
app.post('/v1/runs', async ({ body, ip }, response) => {
  const { run } = await runs.create(`http-once:${crypto.randomUUID()}`, body);
  const who = { actor: null, address: ip, run_id: run.id, outcome: 'done', times: 1 };
  await audit.append([{ action: 'run.submit', ...who }]);
  response.status(202).json({ id: run.id, status: run.status });
});
app.get('/v1/runs/:id', async ({ params }, response) => response.json(await runs.overview(params.id)));
const server = app.listen(0, '127.0.0.1', () => process.send(`http://127.0.0.1:${server.address().port}`));
process.once('disconnect', () => process.exit());
