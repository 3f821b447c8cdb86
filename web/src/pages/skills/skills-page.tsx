import { Button, Group, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import type { Skill } from '../../../../src/contract/skills.ts'
import { useMayChange } from '../../data/sign-in.tsx'
import { skillListQuery } from '../../data/skills.ts'
import { useAddress } from '../../parts/address.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { SearchFilter } from '../../parts/filters.tsx'
import { ChangePanel, MayChange } from '../../parts/may-change.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { CreateSkill } from './create-skill.tsx'
import { copyCountsQuery } from './queries.ts'
import { SkillPanel } from './skill-panel.tsx'

/** The library of skills, the agents that have them, and the copies that differ. */
export function SkillsPage() {
  const [address, setAddress] = useAddress<'q' | 'open' | 'create' | 'edit'>()
  const { q, open } = address
  const mayChange = useMayChange()
  const { data, error, refetch, isPending, hasNextPage, fetchNextPage } = useInfiniteQuery(skillListQuery)
  const counts = useQuery(copyCountsQuery).data
  const all = useMemo(() => data?.pages.flatMap(page => page.data) ?? [], [data])
  const skills = useMemo(() => (q === undefined ? all : all.filter(skill => isFound(skill, q))), [all, q])
  const columns = useMemo(() => columnsOf(counts?.bySkill), [counts])
  const onEnd = useCallback(() => {
    if (hasNextPage) void fetchNextPage()
  }, [hasNextPage, fetchNextPage])
  const create = () => setAddress({ create: '1', open: undefined, edit: undefined }, { isStep: true })
  const close = () => setAddress({ create: undefined, open: undefined, edit: undefined })

  return (
    <Page
      title="Skills"
      actions={
        <MayChange>
          <Button leftSection={<IconPlus size={14} />} onClick={create}>
            Create skill
          </Button>
        </MayChange>
      }
      toolbar={
        <>
          <SearchFilter value={q} onChange={next => setAddress({ q: next })} label="Search names and texts" />
          {q !== undefined && hasNextPage && (
            <Group gap="xs">
              <Text size="sm" c="dimmed">
                Searched the newest {all.length}
              </Text>
              <Button variant="subtle" size="compact-xs" onClick={() => void fetchNextPage()}>
                Search more
              </Button>
            </Group>
          )}
          {counts?.isComplete === false && (
            <Text size="sm" c="dimmed">
              Copies are counted in the newest 1,000 agents with skills
            </Text>
          )}
        </>
      }
    >
      <WithPanel
        panel={
          address.create !== undefined ? (
            <ChangePanel title="Create skill" right="Viewers cannot create skills" onClose={close}>
              <CreateSkill onClose={close} onMade={({ id }) => setAddress({ create: undefined, open: id })} />
            </ChangePanel>
          ) : (
            open !== undefined && (
              <SkillPanel
                key={open}
                id={open}
                isEditing={mayChange && address.edit !== undefined}
                onEdit={isOn => setAddress({ edit: isOn ? '1' : undefined })}
                onClose={close}
              />
            )
          )
        }
      >
        {error ? (
          <ProblemBlock error={error} what="load skills" retry={() => void refetch()} />
        ) : isPending ? (
          <Loading />
        ) : skills.length > 0 ? (
          <DataTable
            rows={skills}
            columns={columns}
            keyOf={({ id }) => id}
            label="Skills"
            onOpen={({ id }) => setAddress({ open: id, create: undefined, edit: undefined }, { isStep: true })}
            selected={open}
            onEnd={onEnd}
          />
        ) : all.length > 0 ? (
          <NoMatch what="skills" onClear={() => setAddress({ q: undefined })} />
        ) : (
          <Empty
            title="No skills yet"
            action={<Button onClick={create}>Create skill</Button>}
            link={<a href="/docs#tag/skills">How skills work</a>}
          >
            A skill is a block of instructions that several agents share. Attaching it copies it into their prompt.
          </Empty>
        )}
      </WithPanel>
    </Page>
  )
}

const isFound = ({ id, name, description, content }: Skill, q: string): boolean =>
  id === q || [name, description ?? '', content].some(text => text.toLowerCase().includes(q.toLowerCase()))

type Counts = ReadonlyMap<string, { readonly total: number; readonly differing: number }> | undefined

const columnsOf = (counts: Counts): readonly Column<Skill>[] => [
  {
    key: 'name',
    title: 'Skill',
    width: 'minmax(140px, 1fr)',
    cell: ({ name }) => (
      <b>
        <SafeText text={name} />
      </b>
    ),
  },
  {
    key: 'description',
    title: 'Description',
    width: 'minmax(120px, 2fr)',
    isNarrow: false,
    cell: ({ description }) => (
      <span className="soft">
        <SafeText text={description ?? ''} />
      </span>
    ),
  },
  {
    key: 'agents',
    title: 'Agents',
    width: '72px',
    align: 'end',
    isNarrow: false,
    cell: ({ id }) => <span className="numbers">{counts ? (counts.get(id)?.total ?? 0) : '…'}</span>,
  },
  {
    key: 'copies',
    title: 'Copies',
    width: '128px',
    cell: ({ id }) => <Copies counts={counts} id={id} />,
  },
  {
    key: 'created',
    title: 'Created',
    width: '80px',
    isNarrow: false,
    cell: ({ created_at: at }) => (
      <span className="soft">
        <Time at={at} />
      </span>
    ),
  },
]

function Copies({ counts, id }: { readonly counts: Counts; readonly id: string }) {
  const count = counts?.get(id)
  if (!count) return <span className="soft">{counts ? 'not attached' : ''}</span>
  return count.differing === 0 ? (
    <StatePill state="done" word="as the library" />
  ) : (
    <StatePill state="waiting" word={count.differing === 1 ? '1 differs' : `${count.differing} differ`} />
  )
}
