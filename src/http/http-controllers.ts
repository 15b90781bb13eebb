import { type Type } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { RunEventsController } from './run-events.controller.js';
import { RunsController } from './runs.controller.js';

/** Everything that answers HTTP, for the module that provides RunService. */
export const httpControllers: Type[] = [RunsController, RunEventsController, HealthController];
