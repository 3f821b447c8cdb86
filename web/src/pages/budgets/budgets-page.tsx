import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { Budget } from '../../../../src/contract/budgets.ts'
import { useAddress } from '../../parts/address.ts'
import { AdminOnly } from '../../parts/admin-only.tsx'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { ChoiceFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { BudgetPanel } from './budget-panel.tsx'
import { BudgetState, nameOf, RateLimits } from './budget-words.tsx'
import { CreateBudget } from './create-budget.tsx'
import { NearTheEnd } from './near-the-end.tsx'
import { budgetsQuery, idOf, parsedId, scopes } from './queries.ts'

const title = 'Budgets'

/** What owners, keys, agents and sessions may spend. */
export function BudgetsPage() {
  return (
    <AdminOnly title={title} right="Only administrators see and set budgets">
      <Budgets />
    </AdminOnly>
  )
}

function Budgets() {
  const [{ scope, open, create }, setAddress] = useAddress<'scope' | 'open' | 'create' | 'edit'>()
  const opened = parsedId(open)
  const close = () => setAddress({ open: undefined, create: undefined, edit: undefined })
  const openBudget = (budget: Budget) =>
    setAddress({ open: idOf(budget), create: undefined, edit: undefined }, { isStep: true })
  const panel =
    create !== undefined ? (
      <CreateBudget of={parsedId(create)} onClose={close} onDone={openBudget} />
    ) : (
      opened && <BudgetPanel key={idOf(opened)} id={opened} onClose={close} />
    )
  return (
    <Page
      title={title}
      actions={
        <Button leftSection={<IconPlus size={14} />} onClick={() => setAddress({ create: '1', open: undefined })}>
          Set budget
        </Button>
      }
      toolbar={
        <ChoiceFilter
          label="Belongs to"
          value={scope}
          options={scopes.map(value => ({ value, label: value }))}
          onChange={value => setAddress({ scope: value })}
        />
      }
    >
      <NearTheEnd onOpen={openBudget} />
      <WithPanel panel={panel}>
        <List scope={scopes.find(each => each === scope)} open={open} hasPanel={Boolean(panel)} onOpen={openBudget} />
      </WithPanel>
    </Page>
  )
}

const name: Column<Budget> = {
  key: 'name',
  title: 'Belongs to',
  width: 'minmax(140px, 1.4fr)',
  cell: budget => (
    <>
      <span className="soft">{budget.scope}</span> <SafeText text={nameOf(budget)} />
    </>
  ),
}
const state: Column<Budget> = {
  key: 'state',
  title: 'State',
  width: '176px',
  cell: budget => <BudgetState budget={budget} />,
}
const bar: Column<Budget> = {
  key: 'bar',
  title: 'Spent',
  width: 'minmax(180px, 1fr)',
  cell: budget => <BudgetBar budget={budget} isRow />,
  isNarrow: false,
}

const columns: readonly Column<Budget>[] = [
  name,
  state,
  bar,
  {
    key: 'reset',
    title: 'Resets',
    width: '84px',
    cell: ({ budget_reset_at }) => <Time at={budget_reset_at} />,
    isNarrow: false,
  },
  {
    key: 'limits',
    title: 'Other limits',
    width: 'minmax(120px, 1.4fr)',
    cell: budget => <RateLimits budget={budget} />,
    isNarrow: false,
  },
]

interface ListProps {
  readonly scope: (typeof scopes)[number] | undefined
  readonly open: string | undefined
  readonly hasPanel: boolean
  readonly onOpen: (budget: Budget) => void
}

function List({ scope, open, hasPanel, onOpen }: ListProps) {
  const [, setAddress] = useAddress<'scope' | 'create'>()
  const { data, error, refetch, fetchNextPage, hasNextPage } = useInfiniteQuery(budgetsQuery(scope))
  if (!data) {
    return error ? <ProblemBlock error={error} what="load the budgets" retry={() => void refetch()} /> : <Loading />
  }
  const budgets = data.pages.flatMap(page => page.budgets)
  if (budgets.length === 0 && scope !== undefined) {
    return <NoMatch what="budgets" onClear={() => setAddress({ scope: undefined })} />
  }
  if (budgets.length === 0) {
    return (
      <Empty
        title="No budgets yet"
        action={<Button onClick={() => setAddress({ create: '1' })}>Set budget</Button>}
        link={<a href="/docs#tag/budgets">Read about budgets</a>}
      >
        A budget limits what a key, an owner, an agent, a session or a team may spend. Calls beyond it are rejected,
        sessions wait.
      </Empty>
    )
  }
  return (
    <DataTable
      label="Budgets"
      rows={budgets}
      columns={hasPanel ? [name, state, bar] : columns}
      keyOf={idOf}
      selected={open}
      onOpen={onOpen}
      onEnd={hasNextPage ? () => void fetchNextPage() : undefined}
    />
  )
}
