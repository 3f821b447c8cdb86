import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { MayChange } from '../../../parts/may-change.tsx'
import { Loading, ProblemLine } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import css from '../agent.module.css'
import { mcpToolsQuery } from '../queries.ts'
import { PolicyControl } from './policy-control.tsx'
import type { Policy, ServerSetup } from './setup.ts'

interface Props {
  readonly server: ServerSetup
  readonly onChange: (tools: ServerSetup['tools']) => void
}

interface ShownTool {
  readonly name: string
  readonly description: string
}

/** The tools of one MCP server; each has the policy of the server, or a separate one. */
export function ServerToolList({ server, onChange }: Props) {
  const { name, url, policy, tools } = server
  const isRegistered = url === undefined
  const { data, error, isPending } = useQuery({ ...mcpToolsQuery(name), enabled: isRegistered })
  if (isRegistered && isPending) return <Loading lines={2} />
  const listed: readonly ShownTool[] = (data?.tools ?? []).map(tool => ({
    name: tool.name,
    description: tool.description ?? '',
  }))
  const missing = Object.keys(tools).filter(tool => !listed.some(each => each.name === tool))
  const shown = [...listed, ...missing.map(tool => ({ name: tool, description: '' }))]
  const set = (tool: string, next: Policy) => onChange({ ...tools, [tool]: next })
  const reset = (tool: string) => {
    const { [tool]: _, ...others } = tools
    onChange(others)
  }
  return (
    <div>
      <ProblemLine error={error} />
      {!isRegistered && (
        <Text size="sm" c="dimmed">
          The tools of a server with an address are known when a session connects to it.
        </Text>
      )}
      {isRegistered && !error && listed.length === 0 && (
        <Text size="sm" c="dimmed">
          This server has no accepted tools.
        </Text>
      )}
      {shown.map(tool => (
        <div key={tool.name} className={css.row}>
          <span>
            <span className="mono">
              <SafeText text={tool.name} />
            </span>{' '}
            <span className="soft">
              <SafeText text={tool.description.slice(0, 160)} />
            </span>
          </span>
          <span className={css.actions}>
            {tools[tool.name] === undefined ? (
              <span className="soft">as the server</span>
            ) : (
              <MayChange>
                <Button variant="subtle" size="compact-xs" onClick={() => reset(tool.name)}>
                  As the server
                </Button>
              </MayChange>
            )}
            <PolicyControl
              label={`Policy of ${tool.name}`}
              value={tools[tool.name] ?? policy}
              onChange={next => set(tool.name, next)}
            />
          </span>
        </div>
      ))}
    </div>
  )
}
