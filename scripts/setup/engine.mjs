import { readFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import { join } from 'node:path';

const DEFAULT_HOST = 'unix:///var/run/docker.sock';
const ANSWER_WITHIN_MS = 3000;

/** The address of the Docker engine in use: DOCKER_HOST, or the local socket. */
export function engineAddress() {
  return process.env.DOCKER_HOST || DEFAULT_HOST;
}

/** undefined when the engine answers, else why it does not. */
export async function engineFault() {
  try {
    const { status } = await get('/_ping');
    return status === 200 ? undefined : `HTTP ${status}`;
  } catch (error) {
    return error.code ?? error.message;
  }
}

/** The engine's description of an image, or null when it has none of that name. */
export async function inspectImage(name) {
  const { status, body } = await get(`/images/${name}/json`);
  return status === 200 ? JSON.parse(body) : null;
}

function get(path) {
  return new Promise((resolve, reject) => {
    const { client, options } = connection(engineAddress());
    const request = client.get({ ...options, path, timeout: ANSWER_WITHIN_MS }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk) => (body += chunk));
      response.on('end', () => resolve({ status: response.statusCode, body }));
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${ANSWER_WITHIN_MS / 1000} s`)));
    request.on('error', reject);
  });
}

function connection(address) {
  if (address.startsWith('unix://')) return { client: http, options: { socketPath: address.slice('unix://'.length) } };
  const { protocol, hostname, port } = new URL(address);
  const secured = protocol === 'https:' || Boolean(process.env.DOCKER_TLS_VERIFY);
  if (!['tcp:', 'http:', 'https:'].includes(protocol)) throw new Error(`DOCKER_HOST ${protocol} is not supported`);
  if (!secured) return { client: http, options: { hostname, port: port || 2375 } };
  const folder = process.env.DOCKER_CERT_PATH;
  const certificate = (name) => folder && readFileSync(join(folder, `${name}.pem`));
  const keys = { ca: certificate('ca'), cert: certificate('cert'), key: certificate('key') };
  return { client: https, options: { hostname, port: port || 2376, ...keys } };
}
