import { z } from 'zod';
import { scopeOf, isOpen } from '../guard/rate-limit.js';
import { components } from './components.js';
import { describeParameter } from './field-descriptions.js';
import type { Answer, Operation } from './operation.js';
import { operations } from './operations.js';

type Json = Record<string, unknown>;

/** OpenAPI 3.1 of everything that answers HTTP. */
export interface OpenApiDocument {
  readonly openapi: '3.1.1';
  readonly info: Json;
  readonly security: readonly Json[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>>; readonly securitySchemes: Json };
}

/** What any operation may answer, whatever it is asked. */
const PROBLEMS: Readonly<Record<number, string>> = {
  400: 'The request cannot be read.',
  401: 'An API key is required.',
  403: 'The API key has no scope for this, or a page of another site asks.',
  429: 'Too many requests; Retry-After says when to ask again.',
  500: 'A defect of the service.',
  503: 'Something that is needed does not answer; asking again later may help.',
};
const PROBLEMS_OF_BODIES: Readonly<Record<number, string>> = {
  408: 'The body comes too slowly.',
  413: 'The body is too large.',
  415: 'The body is of a type that is not taken here.',
};

/** @param version of bestk */
export function openApiDocument(version: string): OpenApiDocument {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = described(operation);
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'bestk',
      version,
      summary: 'Picks the best of K patches for a GitHub issue, with the evidence for it.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ bearer: [] }, { key: [] }, {}],
    paths,
    components: {
      schemas: components(),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'One of BESTK_API_KEYS; required off loopback.' },
        key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
      },
    },
  };
}

function described(operation: Operation): Json {
  const { id, method, path, summary, body, answers, problems } = operation;
  const scope = isOpen(method, path) ? 'No key is needed.' : `Scope of the key: \`${scopeOf(method, path)}\`.`;
  const ofBody = body === undefined ? {} : PROBLEMS_OF_BODIES;
  const failures = Object.entries({ ...PROBLEMS, ...ofBody, ...problems });
  return {
    operationId: id,
    summary,
    description: scope,
    ...(isOpen(method, path) ? { security: [] } : {}),
    parameters: parametersOf(operation),
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentOf(body.types, body.schema) } }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, responseOf(answer)])),
      ...Object.fromEntries(failures.map(([status, description]) => [status, problemOf(description)])),
      default: problemOf('Any other problem.'),
    },
  };
}

function parametersOf({ path, query, headers = {} }: Operation): Json[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  const ofQuery = query === undefined ? { properties: {} } : z.toJSONSchema(query, { io: 'input' });
  return [
    ...names.map((name) => ({
      name,
      in: 'path',
      required: true,
      description: describeParameter(name),
      schema: { type: 'string', minLength: 1 },
    })),
    ...Object.entries(ofQuery.properties ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      description: describeParameter(name),
      schema,
    })),
    ...Object.entries(headers).map(([name, { description, schema }]) => ({
      name,
      in: 'header',
      description,
      schema: { ...z.toJSONSchema(schema), $schema: undefined },
    })),
  ];
}

function responseOf({ description, type, schema, headers }: Answer): Json {
  const told = Object.entries(headers ?? {}).map(([name, says]) => [
    name,
    { description: says, schema: { type: 'string' } },
  ]);
  return {
    description,
    ...(told.length === 0 ? {} : { headers: Object.fromEntries(told) as Json }),
    ...(type === undefined ? {} : { content: contentOf([type], schema) }),
  };
}

function problemOf(description: string): Json {
  return { description, content: contentOf(['application/problem+json'], 'Problem') };
}

function contentOf(types: readonly string[], schema?: string): Json {
  return Object.fromEntries(types.map((type) => [type, mediaOf(type, schema)]));
}

/** OpenAPI 3.1 has no word for the events of a stream; 3.2 calls it `itemSchema`. */
function mediaOf(type: string, schema?: string): Json {
  const reference = schema === undefined ? {} : { $ref: `#/components/schemas/${schema}` };
  if (type !== 'text/event-stream') return { schema: reference };
  return { schema: { type: 'string' }, 'x-event-data': reference };
}
