import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { openApiDocument } from '../../../src/http/openapi/document.js';

interface Described {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: { readonly $ref?: string } }>> }>
  >;
}

export const DOCUMENT = openApiDocument('0.0.0');
const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addSchema(DOCUMENT, 'openapi');

/** `fetch` that takes no answer which the OpenAPI document does not describe: its status, type and, of JSON, its body. */
export const checkedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const url = input instanceof Request ? input.url : String(input);
  await checkAnswer(init?.method ?? 'GET', new URL(url).pathname, response.clone());
  return response;
};

/** @throws Error that says what of an answer is not as it is described */
export async function checkAnswer(method: string, path: string, response: Response): Promise<void> {
  const { name, operation } = find(method, path);
  const at = `${name} ${response.status}`;
  const described = operation.responses[response.status] ?? (response.ok ? undefined : operation.responses.default);
  if (described === undefined) throw new Error(`${at} is not described.`);
  const [[type, { schema }] = ['', { schema: {} }]] = Object.entries(described.content ?? {});
  const sent = response.headers.get('content-type')?.split(';')[0];
  if ((sent ?? '') !== type) throw new Error(`${at}: the type is "${String(sent)}", not "${type}".`);
  if (/[/+]json$/.test(type)) checkBody(at, schema, await response.json());
}

function checkBody(at: string, schema: { readonly $ref?: string }, body: unknown): void {
  const isRight = schema.$ref === undefined || ajv.validate({ $ref: `openapi${schema.$ref}` }, body);
  if (!isRight) throw new Error(`${at}: ${ajv.errorsText()}`);
}

function find(method: string, path: string): { name: string; operation: Described } {
  for (const [template, operations] of Object.entries(DOCUMENT.paths)) {
    const pattern = new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', String.raw`\.`)}$`);
    const operation = operations[method.toLowerCase()];
    if (pattern.test(path) && operation !== undefined) {
      return { name: `${method} ${template}`, operation: operation as unknown as Described };
    }
  }
  throw new Error(`${method} ${path} is not described.`);
}
