import type { Agent } from '../../../../../src/contract/agents.ts'
import { defaultEntry } from './setup-draft.ts'

/** Returns the agents with a webhook: settings for it, or a token under the name that needs no settings. */
export const receiversOf = (agents: readonly Agent[], vaultNames: ReadonlySet<string>): readonly Agent[] =>
  agents.filter(
    ({ id, config, status }) =>
      status !== 'archived' && (isObject(config['webhook']) || vaultNames.has(defaultEntry(id))),
  )

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
