import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../../../src/client/index.ts'
import type { Agent } from '../../../../src/contract/agents.ts'
import { agentQuery, agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { isAbout } from '../../data/form-error.ts'
import { type AgentDraft, changesOf, draftOf, type FieldChange, rebased, updateOf, withoutAbsent } from './draft.ts'

interface Edits {
  /** The version that the edits began with. */
  readonly base: Agent
  readonly draft: AgentDraft
}

/** An agent that a person edits. All tabs edit the same draft, which is saved as one version. */
export interface Editing {
  /** The stored agent. */
  readonly agent: Agent
  readonly draft: AgentDraft
  readonly changes: readonly FieldChange[]
  /** Version that the edits began with. */
  readonly baseVersion: number
  /** True when another person has saved a newer version since. */
  readonly isStale: boolean
  readonly edit: (fields: Partial<AgentDraft>) => void
  /** Changes one setting; undefined removes it. */
  readonly set: (key: string, value: unknown) => void
  /** Message of the last save that failed, at the field that it names. */
  readonly errorAt: (field: string) => string | undefined
  readonly discard: () => void
  /** Puts the edits on top of the stored version. */
  readonly rebase: () => void
  /** Rejects with ApiError; 409 when another person has saved a newer version. */
  readonly save: (note: string) => Promise<Agent>
}

export function useDraft(agent: Agent): Editing {
  const queries = useQueryClient()
  const [edits, setEdits] = useState<Edits>()
  const [failure, setFailure] = useState<string>()
  const draft = edits?.draft ?? draftOf(agent)
  const base = edits?.base ?? agent

  const change = (how: (draft: AgentDraft) => AgentDraft) =>
    setEdits(before => {
      const from = before ?? { base: agent, draft: draftOf(agent) }
      const next = how(from.draft)
      return changesOf(draftOf(from.base), next).length === 0 ? undefined : { ...from, draft: next }
    })

  const save = async (note: string): Promise<Agent> => {
    setFailure(undefined)
    try {
      const saved = await client.agents.update({
        params: { agent_id: agent.id },
        body: updateOf({ base, draft, note }),
      })
      queries.setQueryData(agentQuery(agent.id).queryKey, saved)
      setEdits(undefined)
      void queries.invalidateQueries({ queryKey: agentsKey })
      return saved
    } catch (error) {
      if (error instanceof ApiError) {
        setFailure(error.message)
        if (error.status === 409) await queries.refetchQueries({ queryKey: agentQuery(agent.id).queryKey })
      }
      throw error
    }
  }

  return {
    agent,
    draft,
    changes: edits ? changesOf(draftOf(base), draft) : [],
    baseVersion: base.version,
    isStale: base.version !== agent.version,
    edit: fields => change(before => ({ ...before, ...fields })),
    set: (key, value) => change(before => ({ ...before, config: withoutAbsent({ ...before.config, [key]: value }) })),
    errorAt: field => (failure !== undefined && isAbout(failure, field) ? failure : undefined),
    discard: () => {
      setEdits(undefined)
      setFailure(undefined)
    },
    rebase: () => setEdits(before => before && { base: agent, draft: rebased(before.base, before.draft, agent) }),
    save,
  }
}
