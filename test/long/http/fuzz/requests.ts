import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { FIXTURES } from '../../../unit/io/saved-runs/saved-fixtures.js';
import { givenRequest } from '../../../fixtures/runs.js';
import { DOCUMENT } from '../../../unit/http/checked-fetch.js';
import { escaped, hostileHeader, hostileSegment, hostileString, hostileValue } from './hostile.js';
import { valuesOf } from './schema-arbitrary.js';

/** One request as it goes over the wire. */
export interface FuzzRequest {
  readonly method: string;
  /** With `{known}` where the id of a run that there may be belongs. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer | null;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: object;
}

interface Operation {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
}

/** Every operation of the document, with requests for it: sound ones, nearly sound ones and hostile ones. */
export function operations(): { name: string; requests: fc.Arbitrary<FuzzRequest> }[] {
  return Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      requests: requestsOf(method.toUpperCase(), path, operation as unknown as Operation),
    })),
  );
}

function requestsOf(method: string, path: string, operation: Operation): fc.Arbitrary<FuzzRequest> {
  const { parameters, requestBody } = operation;
  const inQuery = parameters.filter((parameter) => parameter.in === 'query');
  const inHeader = parameters.filter((parameter) => parameter.in === 'header');
  const types = Object.keys(requestBody?.content ?? {});
  return fc
    .record({ path: pathsOf(path), query: queriesOf(inQuery), headers: headersOf(inHeader), body: bodiesOf(operation) })
    .chain(({ query, headers, body, ...at }) =>
      fc.tuple(typesOf(types), codings).map(([type, coding]) => ({
        method,
        path: `${at.path}${query}`,
        headers: { ...headers, ...(body === null ? {} : { 'content-type': type, ...coding }) },
        body,
      })),
    );
}

function pathsOf(template: string): fc.Arbitrary<string> {
  const segments = template.split('/').map((segment) => {
    if (!segment.startsWith('{')) return fc.constant(segment);
    const known = segment === '{id}' ? '{known}' : encodeURIComponent('b/2 ?#%');
    return fc.oneof({ arbitrary: fc.constant(known), weight: 2 }, { arbitrary: hostileSegment, weight: 1 });
  });
  return fc.tuple(...segments).map((parts) => parts.join('/'));
}

function queriesOf(parameters: readonly Parameter[]): fc.Arbitrary<string> {
  const pair = fc.oneof(
    ...parameters.map(({ name, schema }) =>
      valuesOf(schema, true).map(
        (value) => `${name}=${escaped(typeof value === 'string' ? value : JSON.stringify(value))}`,
      ),
    ),
    fc.tuple(hostileSegment, hostileSegment).map((sides) => sides.join('=')),
    fc.constantFrom('__proto__=1', 'limit[]=1', 'limit[a]=1', 'cursor[__proto__]=1', '&&==', 'limit=1e3', 'limit=0x1'),
  );
  return fc.oneof(
    { arbitrary: fc.constant(''), weight: 3 },
    { arbitrary: fc.array(pair, { minLength: 1, maxLength: 3 }).map((pairs) => `?${pairs.join('&')}`), weight: 2 },
  );
}

function headersOf(parameters: readonly Parameter[]): fc.Arbitrary<Record<string, string | undefined>> {
  const members = parameters.map(({ name, schema }) => {
    const sound = valuesOf(schema, false).map((value) =>
      String(value)
        .replaceAll(/[^\x20-\x7e]/g, '')
        .slice(0, 300),
    );
    return [name, fc.oneof(sound, hostileHeader)] as const;
  });
  return fc.record(Object.fromEntries(members), { requiredKeys: [] });
}

function typesOf(types: readonly string[]): fc.Arbitrary<string> {
  const others = ['text/plain', 'application/json; charset=utf-16', 'multipart/form-data; boundary=x', 'x', '*/*'];
  const sound = { arbitrary: fc.constantFrom(...(types.length === 0 ? ['application/json'] : types)), weight: 12 };
  return fc.oneof(sound, { arbitrary: fc.constantFrom(...others), weight: 1 });
}

/** Mostly none: every other one but gzip on uploads is refused. */
const codings = fc.oneof(
  { arbitrary: fc.constant({}), weight: 12 },
  {
    arbitrary: fc
      .constantFrom('gzip', 'x-gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'identity', '*')
      .map((coding) => ({ 'content-encoding': coding })),
    weight: 1,
  },
);

function bodiesOf({ requestBody }: Operation): fc.Arbitrary<Buffer | null> {
  const raw = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    hostileString.map((text) => Buffer.from(text)),
    hostileValue.map((value) => Buffer.from(JSON.stringify(value))),
    fc
      .constantFrom('{"__proto__":{"issue":1}}', '[[[[', '{"a":', '"\\ud800"', '1e400')
      .map((text) => Buffer.from(text)),
  );
  if (requestBody === undefined) {
    return fc.oneof({ arbitrary: fc.constant(null), weight: 6 }, { arbitrary: raw, weight: 1 });
  }
  const schema = requestBody.content['application/json']?.schema;
  const sound =
    schema === undefined
      ? uploads
      : fc
          .oneof(valuesOf(schema, false), valuesOf(schema, true), runs)
          .map((value) => Buffer.from(JSON.stringify(value)));
  return fc.oneof({ arbitrary: sound, weight: 8 }, { arbitrary: raw, weight: 2 });
}

/** Requests of runs that are accepted, but for one value in them. */
const runs = fc
  .record({
    id: hostileString,
    candidate: hostileString,
    patch: hostileString,
    key: hostileString,
    value: hostileValue,
  })
  .chain(({ id, candidate, patch, key, value }) => {
    const { issue } = givenRequest();
    const candidates = [
      { candidate_id: candidate, patch },
      { candidate_id: 'b/2 ?#%', patch, trajectory: { steps: [{}] } },
    ];
    return fc.constantFrom<object>(
      { issue, candidates },
      { issue: { ...issue, instance_id: id, problem_statement: patch }, candidates },
      { issue: { ...issue, [key]: value }, candidates },
      { issue, candidates, budget: value },
      { issue, candidates, tests: [{ test_id: id, path: key, content: patch, author: candidate }] },
      { issue: { ...issue, environment: { image: id, workdir: `/${key}` } }, candidates },
    );
  });

/** Lines of saved runs, some of them with something hostile in the place of a member; packed, unpacked, or cut. */
const line = fc
  .tuple(
    fc.constantFrom(...Object.values(FIXTURES).map(({ content }) => content)),
    fc.option(fc.tuple(fc.nat(), hostileValue)),
  )
  .map(([content, spoilt]) => {
    const members = Object.entries(content as object) as [string, unknown][];
    const index = (spoilt?.[0] ?? 0) % Math.max(1, members.length);
    const changed = members.map(([name, value], at) => [name, spoilt !== null && at === index ? spoilt[1] : value]);
    return JSON.stringify(Array.isArray(content) ? content : Object.fromEntries(changed));
  });
/** Lines of a benchmark that is taken, but for one value in it. */
const benchmark = fc.record({ name: hostileString, value: hostileValue, at: fc.nat(15) }).map(({ name, value, at }) => {
  const { issue, candidates } = givenRequest();
  const or = (place: number, sound: unknown): unknown => (at === place ? value : sound);
  const arm = { name: 'a', candidates: or(0, true), [at === 1 ? name : 'k']: or(2, 1) };
  const lines = [
    { title: or(8, 'Nightly'), arms: or(3, [arm]), grade: or(4, false) },
    { ...issue, ...(at === 5 ? { [name]: value } : {}) },
    { arms: ['a'], candidate: or(6, { instance_id: issue.instance_id, ...candidates?.[0] }) },
    or(7, { arms: ['a'], test: { instance_id: issue.instance_id, test_id: or(9, 't'), path: 'a.py', content: name } }),
  ];
  return lines.map((each) => JSON.stringify(each));
});
/** Lines of a report's runs and labels, but for one value in them. */
const report = fc.record({ id: hostileString, value: hostileValue, at: fc.nat(5) }).map(({ id, value, at }) => {
  const or = (place: number, sound: unknown): unknown => (at === place ? value : sound);
  const label = { instance_id: or(0, 'i'), candidate_id: or(1, 'c'), resolved: or(2, true) };
  return [{ run_id: or(3, id) }, or(4, label)].map((each) => JSON.stringify(each));
});
const uploads = fc
  .tuple(
    fc.oneof(fc.array(fc.oneof(line, hostileString), { maxLength: 4 }), benchmark, report),
    fc.constantFrom('plain', 'packed', 'cut'),
  )
  .map(([lines, how]) => {
    const text = Buffer.from(`${lines.join('\n')}\n`);
    const packed = how === 'plain' ? text : gzipSync(text);
    return how === 'cut' ? packed.subarray(0, packed.length / 2) : packed;
  });
