import { randomBytes } from 'node:crypto'
import { AppError, invalid } from '../platform/errors.ts'
import { pause } from '../platform/timers.ts'
import type { ExecResult, Sandbox } from '../sandboxes/sandbox.ts'
import { outputsFolder } from './large-results.ts'
import { type UnreadOutput, unreadOutput } from './unread-output.ts'

/** Limits of background jobs. Our choice. */
export interface JobLimits {
  /** Running jobs of one run. */
  readonly maxOfRun: number
  /** Running jobs of all runs of a process. */
  readonly maxOfProcess: number
  /** Jobs of a run that have ended and can still be read; the oldest are dropped. */
  readonly maxEnded: number
  /** Output between two reads; beyond it only its first and last half are retained. */
  readonly unreadBytes: number
}

export const defaultJobLimits: JobLimits = { maxOfRun: 4, maxOfProcess: 100, maxEnded: 20, unreadBytes: 256 * 1024 }

export interface JobRequest {
  readonly command: string
  readonly sandbox: Sandbox
  readonly timeoutMs: number | undefined
}

/** State of a job, with the output since the last report. */
export interface JobReport {
  readonly output: string
  /** Undefined while the job is running. */
  readonly end: JobEnd | undefined
  readonly seconds: number
}

export type JobEnd = Pick<ExecResult, 'outcome' | 'exitCode' | 'deletedFiles'> | { readonly failure: string }

/** Background commands of one run. */
export interface Jobs {
  /** Starts a command and returns the id of its job. Errors: `invalid_request` when too many jobs are running. */
  start(request: JobRequest): string
  /** Reports on a job, once it has ended or `waitMs` have passed; undefined when this run has no such job. */
  read(id: string, waitMs: number, signal: AbortSignal): Promise<JobReport | undefined>
  /** Stops a job and waits until none of its processes is left; undefined when this run has no such job. */
  kill(id: string): Promise<JobReport | undefined>
  /**
   * Stops all jobs and waits for their end. Writes output that was not read to a file per job in the workspace. Later
   * jobs are rejected.
   */
  end(): Promise<void>
}

interface Job {
  readonly id: string
  readonly sandbox: Sandbox
  readonly startedMs: number
  readonly stop: AbortController
  readonly unread: UnreadOutput
  readonly ended: Promise<void>
  endedMs: number | undefined
  end: JobEnd | undefined
  /** True when output may have arrived since the last report. */
  hasNews: boolean
}

/** Returns a function that creates the jobs of a run. `signal` stops them. */
export function createJobs(limits: JobLimits = defaultJobLimits): (signal: AbortSignal) => Jobs {
  const counter = { running: 0 }
  return signal => jobsOfRun(limits, signal, counter)
}

function jobsOfRun(limits: JobLimits, signal: AbortSignal, counter: { running: number }): Jobs {
  const jobs = new Map<string, Job>()
  let isOver = false
  const running = () => [...jobs.values()].filter(({ end }) => end === undefined)

  const checkRoom = () => {
    if (isOver || signal.aborted) throw invalid('the run is over')
    if (running().length >= limits.maxOfRun) {
      throw invalid(`${limits.maxOfRun} background jobs are running, the limit; stop one with bash_kill`)
    }
    if (counter.running >= limits.maxOfProcess) throw invalid('server has too many background jobs; retry later')
  }
  const dropOldest = () => {
    const ended = [...jobs.values()].filter(({ end }) => end !== undefined)
    for (const { id } of ended.slice(0, Math.max(0, ended.length - limits.maxEnded))) jobs.delete(id)
  }

  return {
    start(request) {
      checkRoom()
      counter.running += 1
      const job = startJob(request, limits.unreadBytes, signal)
      jobs.set(job.id, job)
      void job.ended.then(() => {
        counter.running -= 1
        dropOldest()
      })
      return job.id
    },
    async read(id, waitMs, callSignal) {
      const job = jobs.get(id)
      if (!job) return undefined
      const done = new AbortController()
      const either = AbortSignal.any([callSignal, done.signal])
      await Promise.race([job.ended, pause(waitMs, either)])
      done.abort()
      callSignal.throwIfAborted()
      return reportOf(job)
    },
    async kill(id) {
      const job = jobs.get(id)
      if (!job) return undefined
      job.stop.abort()
      await job.ended
      return reportOf(job)
    },
    async end() {
      isOver = true
      for (const { stop } of jobs.values()) stop.abort()
      await Promise.all([...jobs.values()].map(storeUnread))
      jobs.clear()
    },
  }
}

function startJob({ command, sandbox, timeoutMs }: JobRequest, unreadBytes: number, signal: AbortSignal): Job {
  const unread = unreadOutput(unreadBytes)
  const stop = new AbortController()
  const onOutput = (part: Buffer) => {
    job.hasNews = true
    unread.add(part)
  }
  const running = sandbox.exec({
    command,
    timeoutMs,
    isBackground: true,
    signal: AbortSignal.any([signal, stop.signal]),
    onOutput,
  })
  const job: Job = {
    id: `job_${randomBytes(4).toString('hex')}`,
    sandbox,
    startedMs: performance.now(),
    stop,
    unread,
    ended: running.then(
      result => endJob(job, result),
      error => endJob(job, { failure: error instanceof AppError ? error.message : 'internal error of the server' }),
    ),
    endedMs: undefined,
    end: undefined,
    hasNews: false,
  }
  return job
}

function endJob(job: Job, end: JobEnd): void {
  job.endedMs = performance.now()
  job.end = end
}

function reportOf(job: Job): JobReport {
  job.hasNews = false
  return {
    output: job.unread.take(job.end !== undefined),
    end: job.end,
    seconds: Math.round(((job.endedMs ?? performance.now()) - job.startedMs) / 1000),
  }
}

/** Returns the file of the workspace with the output that a run had not read when it ended. */
export const outputFileOf = (jobId: string): string => `${outputsFolder}/${jobId}.txt`

async function storeUnread(job: Job): Promise<void> {
  await job.ended
  if (!job.hasNews) return
  // The workspace of a deleted session is gone, and a disk may be full.
  await job.sandbox.files.write(outputFileOf(job.id), job.unread.take(true)).catch(() => undefined)
}
