import { Button, Menu } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { changeBudget, type NamedBudget, reloadBudgets } from '../data/budgets.ts'
import { dollars } from './budget-use.ts'
import { ProblemLine } from './page-state.tsx'
import { raiseAmounts } from './raise-amounts.ts'

interface Props {
  readonly budget: NamedBudget & { readonly spend: number }
  /** Opens the form for another amount. */
  readonly onOther?: (() => void) | undefined
}

/** Raises a budget in two clicks; calls that waited for it continue by themselves. */
export function RaiseBudget({ budget, onOther }: Props) {
  const queries = useQueryClient()
  const raise = useMutation({
    mutationFn: (max_budget: number) => changeBudget(budget, { max_budget }),
    onSuccess: () => reloadBudgets(queries),
  })
  return (
    <>
      <Menu>
        <Menu.Target>
          <Button variant="default" loading={raise.isPending}>
            Raise budget
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {raiseAmounts(budget).map(amount => (
            <Menu.Item key={amount} onClick={() => raise.mutate(amount)}>
              Raise to {dollars(amount)}
            </Menu.Item>
          ))}
          {onOther && <Menu.Item onClick={onOther}>Set another amount</Menu.Item>}
        </Menu.Dropdown>
      </Menu>
      <ProblemLine error={raise.error} />
    </>
  )
}
