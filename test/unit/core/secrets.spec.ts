import { hider } from '../../../src/core/secrets.js';

describe('secrets', () => {
  it('are taken out of a text however they are spelt', () => {
    const hide = hider(['pass"wörd/1', 'pass"wörd']);
    const secret = 'pass"wörd/1';
    for (const text of [secret, JSON.stringify({ a: secret }), `postgres://u:${encodeURIComponent(secret)}@h/d`]) {
      expect(hide(text)).toContain('[hidden]');
      expect(hide(text)).not.toMatch(/w.{1,6}rd/);
    }
    expect(hide('sound text')).toBe('sound text');
  });

  it('that are hardly any are left alone', () => {
    expect(hider(['', 'a', 'none'])('a none')).toBe('a none');
  });
});
