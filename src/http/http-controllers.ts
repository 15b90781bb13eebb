import { type Provider, type Type } from '@nestjs/common';
import { QueueGauges } from '../pipeline/queue-gauges.js';
import { Readiness } from '../pipeline/readiness.js';
import { AuditController } from './audit.controller.js';
import { EvidenceController } from './evidence.controller.js';
import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';
import { ReportsController } from './reports.controller.js';
import { RescoresController } from './rescores.controller.js';
import { RunEventsController } from './run-events.controller.js';
import { RunsController } from './runs.controller.js';
import { ScoreAgainController } from './score-again.controller.js';

/** What watches a process, with or without the rest of the service: `/healthz`, `/readyz`, `/metrics`. */
export const watchControllers: Type[] = [HealthController, MetricsController];

/** What those are answered from, for a module that also has RunStore, Sandbox, ModelProbe, Meter and Exposition. */
export const watchProviders: Provider[] = [QueueGauges, Readiness];

/** Everything that answers HTTP, for the module that provides RunService, RescoreIntake, JudgePrompts, ReportMaker, ReportStore, AuditLog and {@link watchProviders}. */
export const httpControllers: Type[] = [
  RunsController,
  RunEventsController,
  EvidenceController,
  ScoreAgainController,
  RescoresController,
  ReportsController,
  AuditController,
  ...watchControllers,
];
