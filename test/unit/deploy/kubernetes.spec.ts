import { z } from 'zod';
import { ANSWER_WITHIN_MS } from '../../../src/runs/readiness.js';
import { manifests } from '../../fixtures/deployment.js';

const Probe = z.object({ httpGet: z.object({ path: z.string() }), timeoutSeconds: z.number().default(1) });
const Deployed = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({ containers: z.tuple([z.object({ readinessProbe: Probe, livenessProbe: Probe })]) }),
    }),
  }),
});

it.each([
  ['service.yaml', 'StatefulSet'],
  ['workers.yaml', 'Deployment'],
])('deploy/kubernetes/%s waits for an answer as long as it takes while a model server is silent', (file, kind) => {
  const [deployed] = manifests(file).filter((manifest) => manifest.kind === kind);
  const [{ readinessProbe, livenessProbe }] = Deployed.parse(deployed).spec.template.spec.containers;
  expect([readinessProbe.httpGet.path, livenessProbe.httpGet.path]).toEqual(['/readyz', '/healthz']);
  expect(readinessProbe.timeoutSeconds * 1000).toBeGreaterThan(2 * ANSWER_WITHIN_MS);
  expect(livenessProbe.timeoutSeconds).toBeGreaterThan(1);
});
