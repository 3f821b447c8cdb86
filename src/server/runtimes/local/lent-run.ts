import type { BudgetReached } from '../../../contract/events.ts'
import type { Caller } from '../../http/caller.ts'
import type { AppError } from '../../platform/errors.ts'
import { usedUpBudget } from '../endings.ts'
import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'
import { lentMemories } from './memory-server.ts'

/** A run that lends a program the right to call models and to use the memories of its agent. */
export interface LentRun {
  /** On whose behalf the program calls now; undefined when the key that queued the prompt opens nothing any more. */
  caller(): Promise<Caller | undefined>
}

interface Lending {
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: Pick<RunContext, 'runId' | 'payer'>
  /** Called when a budget has no room for a call of the program. */
  readonly onBudgetReached: (reached: BudgetReached, message: string) => void
}

/** Lends what the payer of the prompt may do; calls are booked on the session, its agent and the run. */
export function lendRun({ session, prompt, context, onBudgetReached }: Lending): LentRun {
  const run = {
    session_id: session.id,
    agent_id: session.agent_id,
    owner_id: session.owner_id,
    prompt_id: prompt.id,
    run_id: context.runId,
  }
  const memoryTools = Object.keys(lentMemories(session)?.tools ?? {})
  const refused = (error: AppError): void => {
    const reached = usedUpBudget(error)
    if (reached) onBudgetReached(reached, error.message)
  }
  return {
    async caller() {
      const payer = await context.payer(prompt)
      return payer && { ...payer, role: 'user', ownerScope: session.owner_id, behalf: { run, memoryTools, refused } }
    },
  }
}
