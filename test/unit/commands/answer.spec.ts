import { printFailure } from '../../../src/commands/output.js';
import { BadInputError } from '../../../src/core/errors/errors.js';

it('a failure that names what others wrote moves no terminal', () => {
  const write = process.stderr.write.bind(process.stderr);
  let said = '';
  process.stderr.write = (text) => ((said += String(text)), true);
  try {
    expect(
      printFailure(new BadInputError('has no directory /a\u001b]0;b\u0007\u202e.', {}, 'Name \u001b[31m.'), false),
    ).toBe(2);
  } finally {
    process.stderr.write = write;
  }
  expect(said).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  expect(said).toContain('/a␛]0;b␇⟨U+202E⟩');
});
