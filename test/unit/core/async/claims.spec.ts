import { Claims } from '../../../../src/core/async/concurrency.js';

const NEVER = new AbortController().signal;

it('are certain where nobody else could take anything', async () => {
  await expect(new Claims().certain(NEVER)).resolves.toBeUndefined();
});

it('are waited for once they were not renewed in time', async () => {
  const claims = new Claims();
  claims.renewed(performance.now() - 1);
  let certain = false;
  const waiting = claims.certain(NEVER).then(() => (certain = true));
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(certain).toBe(false);
  claims.renewed(performance.now() + 60_000);
  await expect(waiting).resolves.toBe(true);
});

it('to what was lost do not come back: it has been stopped', async () => {
  const claims = new Claims();
  claims.renewed(performance.now() - 1);
  const stop = new AbortController();
  const waiting = claims.certain(stop.signal);
  stop.abort(new Error('taken over'));
  claims.renewed(performance.now() + 60_000);
  await expect(waiting).rejects.toThrow('taken over');
  await expect(claims.certain(stop.signal)).rejects.toThrow('taken over');
});
