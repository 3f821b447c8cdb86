import { Link } from '@tanstack/react-router'
import type { VaultEntry, VaultUse } from '../../../../src/contract/vault.ts'
import { plural } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './uses.module.css'

const kinds = {
  agent: 'agent',
  mcp_server: 'MCP server',
  git_host: 'git host',
  log_sink: 'log sink',
} as const satisfies Record<VaultUse['kind'], string>

/** `agent Scribe`. */
export const wordsOf = ({ kind, name }: Pick<VaultUse, 'kind' | 'name'>): string => `${kinds[kind]} ${name}`

/** What an entry is used by, in one line. */
export function usesWords({ used_by: uses, used_by_count: total }: Pick<VaultEntry, 'used_by' | 'used_by_count'>) {
  const [first] = uses
  if (!first) return 'nothing'
  return total === 1 ? wordsOf(first) : `${wordsOf(first)} and ${plural(total - 1, 'other')}`
}

/** What deleting an entry breaks, as a sentence. */
export function consequenceOf({ used_by: uses, used_by_count: total }: Pick<VaultEntry, 'used_by' | 'used_by_count'>) {
  if (total === 0) return 'Nothing that the service knows of uses it. Its value cannot be restored.'
  const named = uses.map(use => `${wordsOf(use)} (${use.field})`).join(', ')
  const more = total > uses.length ? ` and ${plural(total - uses.length, 'other')}` : ''
  return `These stop working without it: ${named}${more}. Its value cannot be restored.`
}

/** What an entry is used by, with the setting that names it. */
export function Uses({ entry: { used_by: uses, used_by_count: total } }: { readonly entry: VaultEntry }) {
  if (total === 0) return <span className="soft">nothing</span>
  return (
    <ul className={css.list}>
      {uses.map(use => (
        <li key={`${use.kind} ${use.id} ${use.field}`}>
          {kinds[use.kind]} <UseLink use={use} />{' '}
          <span className="mono soft">
            <SafeText text={use.field} />
          </span>
        </li>
      ))}
      {total > uses.length && <li className="soft">and {plural(total - uses.length, 'other')}</li>}
    </ul>
  )
}

function UseLink({ use: { kind, id, name } }: { readonly use: VaultUse }) {
  const text = <SafeText text={name} />
  if (kind === 'agent') {
    return (
      <Link to="/console/agents/$agentId" params={{ agentId: id }}>
        {text}
      </Link>
    )
  }
  if (kind === 'mcp_server') {
    return (
      <Link to="/console/mcp" search={{ open: id }}>
        {text}
      </Link>
    )
  }
  return text
}
