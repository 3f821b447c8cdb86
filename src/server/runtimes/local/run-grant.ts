import type { BudgetReached } from '../../../contract/events.ts'
import type { Caller } from '../../http/caller.ts'
import type { AppError } from '../../platform/errors.ts'
import { exceededBudget } from '../endings.ts'
import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'
import { grantedMemories } from './memory-server.ts'
import type { ProgramMcp } from './program-mcp.ts'

/** Permission of a program to call models and use its agent's memories and MCP servers on behalf of a run. */
export interface RunGrant {
  /**
   * Returns the caller that the program acts for; undefined when the key that queued the prompt is not valid for work.
   */
  caller(): Promise<Caller | undefined>
}

interface GrantOptions {
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: Pick<RunContext, 'runId' | 'payer'>
  readonly mcp: ProgramMcp
  /** Called when a budget has no room for a model call of the program. */
  readonly onBudgetReached: (reached: BudgetReached, message: string) => void
}

/** Grants the permissions of the prompt's payer. Calls are charged to the session, its agent and the run. */
export function grantRun({ session, prompt, context, mcp, onBudgetReached }: GrantOptions): RunGrant {
  const run = {
    session_id: session.id,
    agent_id: session.agent_id,
    owner_id: session.owner_id,
    prompt_id: prompt.id,
    run_id: context.runId,
  }
  const memoryTools = Object.keys(grantedMemories(session)?.tools ?? {})
  const onRejected = (error: AppError): void => {
    const reached = exceededBudget(error)
    if (reached) onBudgetReached(reached, error.message)
  }
  return {
    async caller() {
      const payer = await context.payer(prompt)
      return (
        payer && {
          ...payer,
          role: 'user',
          ownerScope: session.owner_id,
          behalf: { run, memoryTools, mcpServers: mcp.servers, mayCall: mcp.mayCall, onRejected },
        }
      )
    },
  }
}
