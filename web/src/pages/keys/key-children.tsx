import { Title, UnstyledButton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import { plural } from '../../parts/format.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './key-children.module.css'
import { KeyState } from './key-columns.tsx'
import { keyName } from './key-status.ts'
import { childrenQuery } from './queries.ts'

interface Props {
  readonly id: string
  readonly onOpen: (id: string) => void
}

/** The keys that a key created, which share its budget and end with it. */
export function KeyChildren({ id, onOpen }: Props) {
  const { data, error } = useQuery(childrenQuery(id))
  if (error) return <ProblemLine error={error} />
  const keys = data?.keys ?? []
  if (keys.length === 0) return null
  const isMore = data?.next_cursor != null
  return (
    <section>
      <Title order={3}>{isMore ? 'More than 200 keys' : plural(keys.length, 'key')} that it created</Title>
      <ul className={css.list}>
        {keys.map(key => (
          <li key={key.id}>
            <UnstyledButton className={css.row ?? ''} onClick={() => onOpen(key.id)}>
              <span className="clip">
                <SafeText text={keyName(key)} />
              </span>
              <KeyState apiKey={key} />
              <BudgetBar budget={key} isRow />
            </UnstyledButton>
          </li>
        ))}
      </ul>
    </section>
  )
}
