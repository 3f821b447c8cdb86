import type { AgentWrite } from '../../contract/agents.ts'
import type { SessionSecrets } from '../egress/session-secrets.ts'
import type { Caller } from '../http/caller.ts'
import { runAsOf } from '../http/reach.ts'
import { AppError, invalid } from '../platform/errors.ts'
import { isAbsent } from '../platform/json.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import { checkModelSettings } from './model-defaults.ts'
import { checkRunDefaults } from './run-defaults.ts'

interface Deps {
  /** True for a built-in runtime or a registered harness. */
  readonly isRuntime: (id: string) => Promise<boolean>
  readonly resultSchemas: Pick<ResultSchemas, 'schemaProblem'>
  /** Returns a problem of the secrets in `config.network`. */
  readonly secretProblem: SessionSecrets['problemOf']
}

/** Checks of the fields of a write that need no other agent. Each throws an error that names the field. */
export function createWriteChecks({ isRuntime, resultSchemas, secretProblem }: Deps) {
  async function checkOutputSchema(config: AgentWrite['config']): Promise<void> {
    const schema = config?.['output_schema']
    const problem = isAbsent(schema) ? undefined : await resultSchemas.schemaProblem(schema)
    if (problem !== undefined) throw invalid(`config.output_schema ${problem}`)
  }

  return {
    async checkFields(write: AgentWrite, caller: Caller): Promise<void> {
      if (caller.ownerScope !== undefined && write.owner_id !== caller.ownerScope)
        throw new AppError('forbidden', `owner_id must be ${caller.ownerScope}, the owner of this key`)
      checkRunDefaults(write.config)
      checkModelSettings(write.config)
      await checkOutputSchema(write.config)
      for (const [field, runtime] of [
        ['runtime', write.runtime],
        ['harness', write.harness],
        ['config.runtime', write.config?.['runtime']],
      ] as const) {
        if (runtime === undefined || runtime === null) continue
        if (typeof runtime !== 'string' || !(await isRuntime(runtime))) {
          throw invalid(`${field} ${JSON.stringify(runtime)} is unknown; GET /api/capabilities lists the runtimes`)
        }
      }
    },

    /** Checks that the vault entries in `config.network.secrets` exist for agents that this caller sets up. */
    async checkSecrets({ config, owner_id }: AgentWrite, caller: Caller): Promise<void> {
      const owner = { ownerId: owner_id, mayBeGlobal: runAsOf(caller) === null }
      const wrong = await secretProblem(config ?? {}, owner)
      if (wrong) throw invalid(`${wrong.field} ${wrong.problem}`)
    },
  }
}
