import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { SmallDisk } from './small-disk.js';

const START_WITHIN_MS = 60_000;
const STOPS_WITHIN_MS = 15_000;

/** A Docker engine of its own, with its own containerd: it may be killed. */
export class PrivateEngine {
  /** Where images and containers are kept. */
  readonly disk: SmallDisk;
  private daemon: ChildProcess | null = null;

  /** @param diskMb size of a file system of its own for images and containers */
  constructor(
    private readonly folder: string,
    diskMb: number,
  ) {
    this.disk = new SmallDisk(this.data, diskMb);
  }

  get host(): string {
    return `unix://${join(this.folder, 'docker.sock')}`;
  }

  async start(): Promise<void> {
    // Its number may be another process's by now, and the daemon would wait for that.
    if (this.containerd() === null) rmSync(this.containerdPidFile, { force: true });
    const log = openSync(this.log, 'a');
    const place = ['--data-root', this.data, '--exec-root', join(this.folder, 'exec'), '--pidfile', this.pidFile];
    const alone = ['--iptables=false', '--ip6tables=false', '--bridge=none', '-H', this.host];
    rmSync(this.pidFile, { force: true });
    // In a network namespace of its own: a daemon without a bridge would remove the machine's `docker0`.
    const command = ['--net', 'dockerd', ...place, ...alone];
    const daemon = spawn('unshare', command, { stdio: ['ignore', log, log], cwd: '/', detached: true });
    this.daemon = daemon;
    for (const end = performance.now() + START_WITHIN_MS; performance.now() < end;) {
      if (this.answers()) return;
      if (daemon.exitCode !== null) break;
      await sleep(100);
    }
    throw new Error(`The private dockerd did not start: ${readFileSync(this.log, 'utf8').slice(-1500)}`);
  }

  /** Has an image that another engine has. */
  async copy(image: string): Promise<void> {
    const to = `docker -H ${this.host} load -q`;
    await promisify(execFile)('sh', ['-c', `docker save ${image} | ${to}`]);
  }

  /** Ids of containers with bestk's label, running or not. */
  containers(): readonly string[] {
    return this.docker('ps', '-aq', '--filter', 'label=bestk').split('\n').filter(Boolean);
  }

  /** SIGKILL, and to its containerd too where asked for. */
  kill(withContainerd: boolean): void {
    const containerd = this.containerd();
    this.daemon?.kill('SIGKILL');
    if (withContainerd && containerd !== null) process.kill(containerd, 'SIGKILL');
  }

  async destroy(): Promise<void> {
    if (this.answers()) {
      const left = this.docker('ps', '-aq').split('\n').filter(Boolean);
      if (left.length > 0) this.docker('rm', '-f', ...left);
    }
    await this.stop();
    const containerd = this.containerd();
    if (containerd !== null) process.kill(containerd, 'SIGKILL');
    for (const shim of this.shims()) process.kill(shim, 'SIGKILL');
    this.unmount();
    this.disk.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** What a killed containerd leaves: processes that name its socket. */
  private shims(): readonly number[] {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.map(Number).filter((pid) => this.isOurs(pid));
  }

  private isOurs(pid: number): boolean {
    const file = `/proc/${pid}/cmdline`;
    return existsSync(file) && readFileSync(file, 'utf8').includes(`${this.folder}/exec/`);
  }

  private async stop(): Promise<void> {
    const { daemon } = this;
    if (daemon === null || daemon.exitCode !== null || daemon.signalCode !== null) return;
    const gone = once(daemon, 'exit');
    daemon.kill('SIGTERM');
    await Promise.race([gone, sleep(STOPS_WITHIN_MS)]);
    daemon.kill('SIGKILL');
  }

  /** What a killed daemon leaves mounted, the innermost first. */
  private unmount(): void {
    const points = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '')
      .filter((point) => point.startsWith(`${this.folder}/`) && point !== this.disk.path);
    for (const point of points.reverse()) execFileSync('umount', ['-l', point]);
  }

  private get data(): string {
    return join(this.folder, 'data');
  }

  private get pidFile(): string {
    return join(this.folder, 'docker.pid');
  }

  private get log(): string {
    return join(this.folder, 'dockerd.log');
  }

  private get containerdPidFile(): string {
    return join(this.folder, 'exec/containerd/containerd.pid');
  }

  /** Of the containerd that lives. */
  private containerd(): number | null {
    if (!existsSync(this.containerdPidFile)) return null;
    const pid = Number(readFileSync(this.containerdPidFile, 'utf8'));
    return this.isOurs(pid) ? pid : null;
  }

  private answers(): boolean {
    try {
      this.docker('version');
      return true;
    } catch {
      return false;
    }
  }

  private docker(...args: readonly string[]): string {
    return execFileSync('docker', ['-H', this.host, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  }
}
