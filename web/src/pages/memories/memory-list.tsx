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
      title="This agent remembers nothing yet"
      action={<Button onClick={onCreate}>Add memory</Button>}
      link={<a href="/docs#tag/memories">How memories work</a>}
    >
      A memory is a short text, such as a preference or a fact, that new sessions of the agent get at their start.
    </Empty>
  )
}

const columnsOf = (preview: MemoryPreview | undefined): readonly Column<Memory>[] => {
  const reasons = new Map(preview?.memories.map(({ memory, injected, message }) => [memory.id, { injected, message }]))
  return [
    {
      key: 'text',
      title: 'Memory',
      width: 'minmax(180px, 3fr)',
      cell: ({ text }) => <SafeText text={text} />,
    },
    {
      key: 'tags',
      title: 'Tags',
      width: 'minmax(80px, 1fr)',
      isNarrow: false,
      cell: ({ tags }) => <Tags tags={tags} />,
    },
    {
      key: 'type',
      title: 'Type',
      width: '96px',
      isNarrow: false,
      cell: ({ type }) => <SafeText text={type} />,
    },
    {
      key: 'priority',
      title: 'Priority',
      width: '60px',
      align: 'end',
      isNarrow: false,
      cell: ({ priority }) => <span className="numbers">{priority}</span>,
    },
    { key: 'source', title: 'Source', width: '64px', isNarrow: false, cell: ({ source }) => source },
    {
      key: 'applied',
      title: 'Found',
      width: '110px',
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
      width: '150px',
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
      no room, found by search
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
