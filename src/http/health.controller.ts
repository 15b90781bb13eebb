import { Controller, Get } from '@nestjs/common';
import { RunService } from '../pipeline/run-service.js';

@Controller()
export class HealthController {
  constructor(private readonly runs: RunService) {}

  /** The process answers. */
  @Get('healthz')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** The store answers, and runs are accepted. */
  @Get('readyz')
  async ready(): Promise<{ status: 'ready' }> {
    await this.runs.checkReady();
    return { status: 'ready' };
  }
}
