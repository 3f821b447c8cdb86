import { Badge, Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import type { Memory, MemoryPreview } from '../../../../src/contract/memories.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import css from './memories.module.css'
import type { Filtering } from './memory-filters.tsx'
import { memoryListQuery, memoryPreviewQuery } from './queries.ts'

interface Props {
  readonly agentId: string
  readonly filtering: Filtering
  readonly open: string | undefined
  readonly onOpen: (id: string) => void
  readonly onCreate: () => void
}

/** The memories of an agent in the order in which sessions get them. */
export function MemoryList({ agentId, filtering, open, onOpen, onCreate }: Props) {
  const { data, error, refetch, isPending, hasNextPage, fetchNextPage } = useInfiniteQuery(
    memoryListQuery(agentId, filtering.filters),
  )
  const preview = useQuery(memoryPreviewQuery(agentId)).data
  const memories = useMemo(() => data?.pages.flatMap(page => page.data) ?? [], [data])
  const columns = useMemo(() => columnsOf(preview), [preview])
  const onEnd = useCallback(() => {
    if (hasNextPage) void fetchNextPage()
  }, [hasNextPage, fetchNextPage])
  if (error) return <ProblemBlock error={error} what="load memories" retry={() => void refetch()} />
  if (isPending) return <Loading />
  if (memories.length > 0) {
    return (
      <DataTable
        rows={memories}
        columns={columns}
        keyOf={({ id }) => id}
        label="Memories"
        onOpen={({ id }) => onOpen(id)}
        selected={open}
        onEnd={onEnd}
      />
    )
  }
  return filtering.isFiltered ? (
    <NoMatch what="memories" onClear={filtering.clear} />
  ) : (
    <Empty
      title="This agent has no memories yet"
      action={<Button onClick={onCreate}>Add memory</Button>}
      link={<a href="/docs#tag/memories">How memories work</a>}
    >
      A memory is a short text, such as a preference or a fact, that new sessions of the agent get at their start.
    </Empty>
  )
}

const sources = { agent: 'agent', ui: 'person', slack: 'Slack' } as const

const columnsOf = (preview: MemoryPreview | undefined): readonly Column<Memory>[] => {
  const reasons = new Map(preview?.memories.map(({ memory, injected, message }) => [memory.id, { injected, message }]))
  return [
    {
      key: 'text',
      title: 'Memory',
      width: 'minmax(120px, 3fr)',
      cell: ({ text }) => <SafeText text={text} />,
    },
    {
      key: 'tags',
      title: 'Tags',
      width: 'minmax(56px, 1fr)',
      isNarrow: false,
      cell: ({ tags }) => <Tags tags={tags} />,
    },
    {
      key: 'type',
      title: 'Type',
      width: '76px',
      isNarrow: false,
      cell: ({ type }) => <SafeText text={type} />,
    },
    {
      key: 'priority',
      title: 'Priority',
      width: '52px',
      align: 'end',
      isNarrow: false,
      cell: ({ priority }) => <span className="numbers">{priority}</span>,
    },
    { key: 'source', title: 'Source', width: '52px', isNarrow: false, cell: ({ source }) => sources[source] },
    {
      key: 'applied',
      title: 'Applied',
      width: '92px',
      isNarrow: false,
      cell: ({ times_applied: times, last_applied_at: last }) =>
        times === 0 ? (
          <span className="soft">never</span>
        ) : (
          <span className="numbers">
            {times} ×, <Time at={last} />
          </span>
        ),
    },
    {
      key: 'state',
      title: 'In new sessions',
      width: '108px',
      cell: ({ id, disabled }) => <InPrompt reason={reasons.get(id)} isDisabled={disabled} />,
    },
  ]
}

interface InPromptProps {
  readonly reason: { readonly injected: boolean; readonly message: string } | undefined
  readonly isDisabled: boolean
}

function InPrompt({ reason, isDisabled }: InPromptProps) {
  if (isDisabled) return <StatePill state="stopped" word="disabled" />
  if (!reason) return <span className="soft">found by search</span>
  return reason.injected ? (
    <StatePill state="done" word="yes" />
  ) : (
    <span className="soft" title={reason.message}>
      no room
    </span>
  )
}

export function Tags({ tags }: { readonly tags: readonly string[] }) {
  return (
    <span className={css.tags}>
      {tags.map(tag => (
        <Badge key={tag} variant="default" size="sm" tt="none">
          <SafeText text={tag} />
        </Badge>
      ))}
    </span>
  )
}
