// `npm run client`: writes the TypeScript client of the service and the models of the Python client from the OpenAPI document.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { openApiDocument } from '../dist/src/http/openapi/document.js';
import { clientSource } from './make-client/client-source.mjs';
import { pythonModels } from './make-client/python-models.mjs';

const file = fileURLToPath(new URL('../examples/client/bestk-client.ts', import.meta.url));
const document = openApiDocument('');
const source = clientSource(document);
writeFileSync(file, await format(source, { ...(await resolveConfig(file)), filepath: file }));
const models = fileURLToPath(new URL('../clients/python/bestk/models.py', import.meta.url));
writeFileSync(models, pythonModels(document));
console.log(`${file}\n${models}`);
