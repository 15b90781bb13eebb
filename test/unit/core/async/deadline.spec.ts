import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { timeoutSignal } from '../../../../src/core/async/time.js';

it('a time that is up ends what nobody but a signal of signals waits for, though memory was collected meanwhile', async () => {
  const either = AbortSignal.any([new AbortController().signal, timeoutSignal(100)]);
  const aborted = new Promise((resolve) => {
    either.addEventListener('abort', resolve);
  });
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await new Promise((resolve) => setTimeout(resolve, 20));
  collect();
  await aborted;
  expect(either.reason).toMatchObject({ name: 'TimeoutError' });
});
