import { Type } from 'typebox'
import type { Sandbox } from '../sandboxes/sandbox.ts'
import { endingOf } from './command-ending.ts'
import { type JobEnd, type JobReport, outputFileOf } from './jobs.ts'
import { type Answer, defineTool, done, failed, type ToolContext } from './tool.ts'

const maxWaitMs = 600_000

const jobId = Type.String({ pattern: '^job_[0-9a-f]{8}$', description: 'The job_id that bash returned' })

/** Returns what a background job has written since the last call. */
export const bashOutputTool = defineTool({
  name: 'bash_output',
  description:
    'Read the output of a background job of bash since the last read, and whether it is still running. Waits up to ' +
    'wait_ms for the job to end.',
  input: Type.Object({
    job_id: jobId,
    wait_ms: Type.Optional(
      Type.Integer({ minimum: 0, maximum: maxWaitMs, description: 'Milliseconds to wait for its end; 0 when absent' }),
    ),
  }),
  idempotent: false,
  run: async ({ job_id, wait_ms = 0 }, { jobs, signal, sandbox }) =>
    answerOf(job_id, { report: await jobs.read(job_id, wait_ms, signal), sandbox, verb: 'exited' }),
})

/** Stops a background job. */
export const bashKillTool = defineTool({
  name: 'bash_kill',
  description: 'Stop a background job of bash with all its processes; returns the output that was not read yet.',
  input: Type.Object({ job_id: jobId }),
  idempotent: false,
  run: async ({ job_id }, { jobs, sandbox }) =>
    answerOf(job_id, { report: await jobs.kill(job_id), sandbox, verb: 'had already exited' }),
})

/** Starts a command as a job and returns its id. */
export function startInBackground(command: string, timeoutMs: number | undefined, context: ToolContext): Answer {
  const { jobs, sandbox } = context
  const job_id = jobs.start({ command, sandbox, timeoutMs })
  const late = sandbox.driver === 'virtual' ? ' This sandbox returns output only when the job has ended.' : ''
  return done(
    `${JSON.stringify({ job_id })}\n[running in the background; it ends with this run at the latest: its end, an ` +
      `interrupt or a wait for a person stops it. Read its output with bash_output.${late}]`,
  )
}

interface Reported {
  readonly report: JobReport | undefined
  readonly sandbox: Sandbox
  /** How an exit of the job is described. */
  readonly verb: string
}

async function answerOf(id: string, { report, sandbox, verb }: Reported): Promise<Answer> {
  if (!report) return failed(await absence(id, sandbox))
  const { output, end, seconds } = report
  const state = end ? `${stateOf(end, verb)} after ${seconds} s` : `running for ${seconds} s`
  return done([output.replace(/\n$/, '') || '(no new output)', `[${id}: ${state}]`].join('\n'))
}

function stateOf(end: JobEnd, verb: string): string {
  if ('failure' in end) return `did not start: ${end.failure}`
  if (end.outcome === 'exited') return `${verb} with ${endingOf(end) || 'exit code 0'}`
  return end.outcome === 'cancelled' ? 'stopped' : endingOf(end)
}

/** Explains why there is no such job: the run that started it is over, or never had it. */
async function absence(id: string, { files }: Sandbox): Promise<string> {
  const file = outputFileOf(id)
  const isStored = await files.read(file).then(
    () => true,
    () => false,
  )
  const where = isStored ? `; its output that was not read is in ${file}` : ''
  return (
    `${id} is not a job of this run: the end of a run, an interrupt, a wait for a person and a crash stop its jobs, ` +
    `and the oldest ended jobs are dropped${where}`
  )
}
