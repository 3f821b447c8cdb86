import { UnstyledButton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ContextTool } from '../../../../../../src/contract/contexts.ts'
import { duration } from '../../../../parts/format.ts'
import { Loading, ProblemLine } from '../../../../parts/page-state.tsx'
import { SafeText } from '../../../../parts/safe-text.tsx'
import { Section } from '../../../../parts/section.tsx'
import { type ToolStatistics, toolStatistics } from '../../../../session-log/statistics.ts'
import { toolName } from '../../../../session-log/tool-text.ts'
import css from '../inspector.module.css'
import type { InspectorProps } from '../inspector-props.ts'
import { PartialLog } from '../partial-log.tsx'
import { contextQuery } from '../queries.ts'

/** Calls, failures, times and policy of each tool, and the tools that were not called. */
export function ToolsTab({ sessionId, view, selection, onLoadAll, isLoadingOlder }: InspectorProps) {
  const { data: context, error, isPending } = useQuery(contextQuery(sessionId))
  const { turns } = view
  const called = useMemo(() => toolStatistics({ turns }), [turns])
  const tools = context?.tools ?? []
  const unused = tools.filter(tool => !called.some(each => isSame(each, tool)))
  return (
    <div className={css.scroller}>
      <Section title="Called tools">
        <PartialLog view={view} isLoadingOlder={isLoadingOlder} onLoadAll={onLoadAll} />
        {called.length === 0 ? (
          <p className="soft">No tool was called</p>
        ) : (
          <table className={css.table}>
            <thead>
              <tr>
                <th>Tool</th>
                <th className={css.end}>Calls</th>
                <th className={css.end}>Failed</th>
                <th className={css.end} title="Half of the calls took at most this long">
                  Median
                </th>
                <th className={css.end}>Longest</th>
              </tr>
            </thead>
            <tbody>
              {called.map(each => (
                <CalledTool
                  key={toolName(each)}
                  statistics={each}
                  policy={tools.find(tool => isSame(each, tool))?.policy}
                  onSelect={selection.select}
                />
              ))}
            </tbody>
          </table>
        )}
      </Section>
      <Section title="Tools that were not called">
        <ProblemLine error={error} />
        {isPending && <Loading lines={3} />}
        {context && unused.length === 0 && <p className="soft">None</p>}
        <table className={css.table}>
          <tbody>
            {unused.map(tool => (
              <tr key={`${tool.mcp_server}.${tool.name}`}>
                <td className="mono">
                  <SafeText text={toolName({ name: tool.name, server: tool.mcp_server ?? undefined })} />
                </td>
                <td className={css.end}>{policyWords[tool.policy]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
    </div>
  )
}

const isSame = ({ name, server }: Pick<ToolStatistics, 'name' | 'server'>, tool: ContextTool): boolean =>
  name === tool.name && (server ?? null) === tool.mcp_server

const policyWords: Readonly<Record<ContextTool['policy'], string>> = {
  allow: 'allowed',
  ask: 'asks first',
  deny: 'denied',
}

interface CalledProps {
  readonly statistics: ToolStatistics
  /** Undefined for a tool that the session does not have any more. */
  readonly policy: ContextTool['policy'] | undefined
  readonly onSelect: (eventId: string) => void
}

function CalledTool({ statistics, policy, onSelect }: CalledProps) {
  const { calls, failures, unrun, medianMs, maxMs, maxEventId } = statistics
  return (
    <tr>
      <td>
        <div className="mono">
          <SafeText text={toolName(statistics)} />
        </div>
        <div className="soft">
          {policy === undefined ? 'policy unknown' : policyWords[policy]}
          {unrun > 0 && ` · ${unrun} not run to the end`}
        </div>
      </td>
      <td className={`${css.end} numbers`}>{calls}</td>
      <td className={`${css.end} numbers`}>{failures}</td>
      <td className={`${css.end} numbers`}>{medianMs === undefined ? '–' : duration(medianMs)}</td>
      <td className={`${css.end} numbers`}>
        {maxMs === undefined || maxEventId === undefined ? (
          '–'
        ) : (
          <UnstyledButton
            className={css.jump}
            fz="inherit"
            aria-label={`Show the longest call of ${statistics.name}, ${duration(maxMs)}`}
            onClick={() => onSelect(maxEventId)}
          >
            {duration(maxMs)}
          </UnstyledButton>
        )}
      </td>
    </tr>
  )
}
