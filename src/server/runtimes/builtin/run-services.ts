import { isRecord } from '../../platform/json.ts'
import { createJobs } from '../../tools/jobs.ts'
import type { RunServices } from '../../tools/tool.ts'
import type { RunContext, RunPrompt } from '../runtime.ts'
import type { BuiltinDeps } from './run.ts'

interface RunOf {
  readonly prompt: Pick<RunPrompt, 'model'>
  readonly context: Pick<RunContext, 'signal'>
}

/** Returns a function that creates what the tools of one run share. Its jobs must be ended with the run. */
export function createRunServices({
  modelInputs,
  web,
}: Pick<BuiltinDeps, 'modelInputs' | 'web'>): (run: RunOf) => RunServices {
  const jobsOf = createJobs()
  return ({ prompt: { model }, context: { signal } }) => ({
    jobs: jobsOf(signal),
    model: { name: model, ...modelInputs(model) },
    web,
  })
}

/** Returns the services of a run that calls no tool. */
export const idleServices = (deps: Pick<BuiltinDeps, 'modelInputs' | 'web'>, model: string): RunServices =>
  createRunServices(deps)({ prompt: { model }, context: { signal: AbortSignal.abort() } })

/** True for a call that starts a background job, which may change files until the end of the run. */
export const startsJob = (tool: string, input: unknown): boolean =>
  tool === 'bash' && isRecord(input) && input['run_in_background'] === true

/** Without a search provider the tool `web_search` does not exist. */
export const isAvailable = (tool: string, { web }: Pick<BuiltinDeps, 'web'>): boolean =>
  tool !== 'web_search' || web.canSearch
