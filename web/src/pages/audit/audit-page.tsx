import { TextInput } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { AuditEntry } from '../../../../src/contract/audit.ts'
import { useAddress } from '../../parts/address.ts'
import { AdminOnly } from '../../parts/admin-only.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { ChoiceFilter, FilterChips, SearchFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SaveCsv } from '../../parts/save-csv.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { changeDigest, kinds } from './changes.ts'
import { EntryPanel } from './entry-panel.tsx'
import { type AuditFilters, auditQuery, filterNames, loadAuditFile } from './queries.ts'

const title = 'Audit'

/** Who changed what, and when. */
export function AuditPage() {
  return (
    <AdminOnly title={title} right="Only administrators see the audit log">
      <Audit />
    </AdminOnly>
  )
}

const noFilters = { action: undefined, object_id: undefined, principal: undefined, from: undefined, to: undefined }

function Audit() {
  const [{ open, ...rest }, setAddress] = useAddress<keyof AuditFilters | 'open'>()
  const filters: AuditFilters = Object.fromEntries(filterNames.map(name => [name, rest[name]]))
  const list = useInfiniteQuery(auditQuery(filters))
  const entries = list.data?.pages.flatMap(page => page.entries)
  const opened = entries?.find(({ id }) => id === open)
  return (
    <Page
      title={title}
      actions={<SaveCsv name="audit" what="the audit log" load={() => loadAuditFile(filters)} />}
      toolbar={<Filters filters={filters} />}
    >
      <WithPanel
        panel={opened && <EntryPanel key={opened.id} entry={opened} onClose={() => setAddress({ open: undefined })} />}
      >
        {entries ? (
          <List
            entries={entries}
            open={open}
            isFiltered={Object.values(filters).some(Boolean)}
            onOpen={({ id }) => setAddress({ open: id }, { isStep: true })}
            onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
            onClear={() => setAddress(noFilters)}
          />
        ) : list.error ? (
          <ProblemBlock error={list.error} what="load the audit log" retry={() => void list.refetch()} />
        ) : (
          <Loading />
        )}
      </WithPanel>
    </Page>
  )
}

function Filters({ filters }: { readonly filters: AuditFilters }) {
  const [, setAddress] = useAddress<keyof AuditFilters>()
  const { action, object_id: object, principal, from, to } = filters
  const isOtherAction = action !== undefined && !kinds.some(([pattern]) => pattern === action)
  const day = (name: 'from' | 'to', label: string) => (
    <TextInput
      type="date"
      size="xs"
      aria-label={label}
      title={label}
      leftSection={<span className="soft">{name === 'from' ? 'from' : 'before'}</span>}
      leftSectionWidth={name === 'from' ? 44 : 56}
      value={filters[name]?.slice(0, 10) ?? ''}
      onChange={({ currentTarget }) => setAddress({ [name]: currentTarget.value || undefined })}
    />
  )
  return (
    <>
      <ChoiceFilter
        label="What was changed"
        value={isOtherAction ? undefined : action}
        options={kinds.map(([value, label]) => ({ value, label }))}
        onChange={value => setAddress({ action: value })}
      />
      <SearchFilter label="Id of the object" value={object} onChange={value => setAddress({ object_id: value })} />
      <TextFilter label="Who" value={principal} onChange={value => setAddress({ principal: value })} />
      {day('from', 'From this day (UTC)')}
      {day('to', 'Before this day (UTC)')}
      <FilterChips
        active={{
          ...(isOtherAction && { action }),
          object: object,
          who: principal,
          from,
          before: to,
        }}
        onRemove={name =>
          setAddress({ [{ object: 'object_id', who: 'principal', before: 'to' }[name] ?? name]: undefined })
        }
        onClear={() => setAddress(noFilters)}
      />
    </>
  )
}

interface TextFilterProps {
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (value: string | undefined) => void
}

/** A filter that is applied with Enter or when it loses the focus. */
function TextFilter({ label, value, onChange }: TextFilterProps) {
  const send = (text: string) => onChange(text.trim() === '' ? undefined : text.trim())
  return (
    <TextInput
      key={value ?? ''}
      size="xs"
      w={140}
      aria-label={label}
      placeholder={label}
      defaultValue={value ?? ''}
      onBlur={({ currentTarget }) => send(currentTarget.value)}
      onKeyDown={({ key, currentTarget }) => key === 'Enter' && send(currentTarget.value)}
    />
  )
}

const columns: readonly Column<AuditEntry>[] = [
  { key: 'action', title: 'Action', width: '190px', cell: ({ action }) => <span className="mono">{action}</span> },
  { key: 'time', title: 'When', width: '72px', cell: ({ created_at }) => <Time at={created_at} /> },
  {
    key: 'who',
    title: 'Who',
    width: 'minmax(90px, 0.7fr)',
    cell: ({ principal }) => <SafeText text={principal} />,
    isNarrow: false,
  },
  {
    key: 'object',
    title: 'Object',
    width: 'minmax(120px, 1fr)',
    cell: ({ object_id }) => (
      <span className="mono">
        <SafeText text={object_id} />
      </span>
    ),
    isNarrow: false,
  },
  {
    key: 'change',
    title: 'Change',
    width: 'minmax(140px, 1.8fr)',
    cell: entry => (
      <span className="soft">
        <SafeText text={changeDigest(entry)} />
      </span>
    ),
    isNarrow: false,
  },
  {
    key: 'address',
    title: 'Address',
    width: '120px',
    cell: ({ address }) => <span className="mono soft">{address ?? 'the service'}</span>,
    isNarrow: false,
  },
]
const shownBeside = ['time', 'action', 'object']
const fewColumns = columns.filter(({ key }) => shownBeside.includes(key))

interface ListProps {
  readonly entries: readonly AuditEntry[]
  readonly open: string | undefined
  readonly isFiltered: boolean
  readonly onOpen: (entry: AuditEntry) => void
  readonly onEnd: (() => void) | undefined
  readonly onClear: () => void
}

function List({ entries, open, isFiltered, onOpen, onEnd, onClear }: ListProps) {
  if (entries.length === 0 && isFiltered) return <NoMatch what="entries" onClear={onClear} />
  if (entries.length === 0) {
    return (
      <Empty title="Nothing was changed yet" link={<a href="/docs#tag/audit">Read about the audit log</a>}>
        The service records each change of its configuration here: who, what, before and after. No entry contains a
        secret.
      </Empty>
    )
  }
  return (
    <DataTable
      label="Audit log"
      rows={entries}
      columns={open === undefined ? columns : fewColumns}
      keyOf={({ id }) => id}
      selected={open}
      onOpen={onOpen}
      onEnd={onEnd}
    />
  )
}
