import { type Provider, type Type } from '@nestjs/common';
import { QueueGauges, Readiness } from '../runs/readiness.js';
import { AuditController } from './ops/audit.js';
import { BenchmarksController } from './benchmarks/benchmarks.controller.js';
import { EventStreams } from './runs/event-streams.js';
import { EvidenceController } from './runs/evidence.controller.js';
import { HealthController, MetricsController } from './ops/health.controller.js';
import { ReportsController } from './reports/reports.controller.js';
import {
  RescoreRunController,
  RescoresController,
  RunsController,
  RunEventsController,
} from './runs/runs.controller.js';
import { RewardsController } from './rewards/rewards.controller.js';

/** What watches a process, with or without the rest of the service: `/healthz`, `/readyz`, `/metrics`. */
export const watchControllers: Type[] = [HealthController, MetricsController];

/** What those are answered from, for a module that also has RunStore, Sandbox, ModelProbe, Meter and Exposition. */
export const telemetryProviders: Provider[] = [QueueGauges, Readiness];

/** What answers of the whole service need beside. */
export const httpProviders: Provider[] = [...telemetryProviders, EventStreams];

/** Everything that answers HTTP, for the module that provides RunService, RunIntake, RescoreIntake, JudgePrompts, LargeRuns, ReportMaker, ReportStore, BenchmarkService, BenchmarkIntake, BenchmarkReports, AuditLog and {@link httpProviders}. */
export const httpControllers: Type[] = [
  RunsController,
  RunEventsController,
  EvidenceController,
  RescoreRunController,
  RescoresController,
  RewardsController,
  ReportsController,
  BenchmarksController,
  AuditController,
  ...watchControllers,
];
