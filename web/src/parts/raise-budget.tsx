import { Button, Menu } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { changeBudget, type NamedBudget, reloadBudgets } from '../data/budgets.ts'
import { reportError } from '../data/queries.ts'
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
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<unknown>()
  const raise = async (max_budget: number) => {
    setRunning(true)
    setError(undefined)
    try {
      await changeBudget(budget, { max_budget })
      await reloadBudgets(queries)
    } catch (failure) {
      reportError(failure)
      setError(failure)
    } finally {
      setRunning(false)
    }
  }
  return (
    <>
      <Menu>
        <Menu.Target>
          <Button variant="default" loading={isRunning}>
            Raise budget
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {raiseAmounts(budget).map(amount => (
            <Menu.Item key={amount} onClick={() => void raise(amount)}>
              Raise to {dollars(amount)}
            </Menu.Item>
          ))}
          {onOther && <Menu.Item onClick={onOther}>Set another amount</Menu.Item>}
        </Menu.Dropdown>
      </Menu>
      <ProblemLine error={error} />
    </>
  )
}
