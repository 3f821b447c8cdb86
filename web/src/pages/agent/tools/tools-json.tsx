import { Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../data/client.ts'
import { isRecord, recordOf } from '../../../data/json.ts'
import { JsonBlock } from '../../../parts/code.tsx'
import { JsonField } from '../../../parts/json-field.tsx'
import { Loading, ProblemLine } from '../../../parts/page-state.tsx'
import css from '../agent.module.css'
import type { Editing } from '../use-draft.ts'

/** The tools of an agent as they are stored. The service checks them when they are saved. */
export function ToolsJson({ editing }: { readonly editing: Editing }) {
  const { draft, edit, set, errorAt } = editing
  const isList = (value: unknown) => (value === undefined || Array.isArray(value) ? undefined : 'A JSON list')
  return (
    <Stack gap="md">
      <JsonField
        label="Tools"
        description="A list of entries, or an object with names of tools. {} means all tools that do not reach the network"
        value={draft.tools}
        onChange={value => edit({ tools: value ?? {} })}
        problemOf={value =>
          value === undefined || isRecord(value) || Array.isArray(value) ? undefined : 'A JSON list or object'
        }
        error={errorAt('tools')}
        minRows={10}
      />
      <ToolSchema />
      <JsonField
        label="MCP servers"
        description='Names of registered servers, or {"type": "url", "name": …, "url": …}'
        value={draft.config['mcp_servers']}
        onChange={value => set('mcp_servers', value)}
        problemOf={isList}
        error={errorAt('config.mcp_servers')}
        placeholder="[]"
      />
      <JsonField
        label="Subagents"
        description='Ids of agents, or {"agent_id": …, "version": …, "budget_share": …, "max_parallel": …, "permission_policy": …}'
        value={draft.config['agents']}
        onChange={value => set('agents', value)}
        problemOf={isList}
        error={errorAt('config.agents')}
        placeholder="[]"
      />
    </Stack>
  )
}

/** The schema of an entry, from the description of the API, loaded when a person opens it. */
function ToolSchema() {
  const [isOpen, setOpen] = useState(false)
  const { data, error } = useQuery({
    queryKey: ['openapi', 'tools'],
    queryFn: async () => {
      const schemas = recordOf(recordOf((await client.system.openapi())['components'])['schemas'])
      const { ManagedTool, ManagedToolConfig, ToolPolicy } = schemas
      return { ManagedTool, ManagedToolConfig, ToolPolicy }
    },
    staleTime: Number.POSITIVE_INFINITY,
    enabled: isOpen,
  })
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className={css.summary}>Schema of an entry</summary>
      {isOpen &&
        (data ? <JsonBlock value={data} what="schema" /> : error ? <ProblemLine error={error} /> : <Loading />)}
    </details>
  )
}
