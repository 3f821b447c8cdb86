import { Button, Table } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { exactCount } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './charts.module.css'

export interface TableContent {
  /** Titles of the columns; names of models, agents and the like may be among them. */
  readonly head: readonly string[]
  readonly rows: readonly { readonly key: string; readonly cells: readonly ReactNode[] }[]
  readonly total?: readonly ReactNode[]
}

const shownAtFirst = 20

/** Figures in rows; the first column has names, the others numbers. */
export function FigureTable({
  label,
  content: { head, rows, total },
}: {
  readonly label: string
  readonly content: TableContent
}) {
  const [isAll, setAll] = useState(false)
  const shown = isAll ? rows : rows.slice(0, shownAtFirst)
  return (
    <>
      <Table.ScrollContainer minWidth={head.length * 88} scrollAreaProps={{ tabIndex: 0 }}>
        <Table fz="sm" verticalSpacing={4} className="numbers" aria-label={label}>
          <Table.Thead>
            <Table.Tr>
              {placed(head).map(({ value: title, at }) => (
                <Table.Th key={at} ta={at === 0 ? 'start' : 'end'} fw={500} c="dimmed">
                  <SafeText text={title} />
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map(({ key, cells }) => (
              <Table.Tr key={key}>
                <Cells cells={cells} />
              </Table.Tr>
            ))}
          </Table.Tbody>
          {total && (
            <Table.Tfoot>
              <Table.Tr fw={600}>
                <Cells cells={total} />
              </Table.Tr>
            </Table.Tfoot>
          )}
        </Table>
      </Table.ScrollContainer>
      {rows.length > shownAtFirst && (
        <Button variant="subtle" size="compact-xs" onClick={() => setAll(!isAll)}>
          {isAll ? `Show the first ${shownAtFirst}` : `Show all ${exactCount(rows.length)} rows`}
        </Button>
      )}
    </>
  )
}

/** Columns have no identity but their place: names of two series may be the same. */
const placed = <Value,>(values: readonly Value[]) => values.map((value, at) => ({ value, at }))

const Cells = ({ cells }: { readonly cells: readonly ReactNode[] }) =>
  placed(cells).map(({ value, at }) =>
    at === 0 ? (
      <Table.Th key={at} scope="row" fw="inherit" maw={280} className="clip">
        {value}
      </Table.Th>
    ) : (
      <Table.Td key={at} ta="end" className={css.figure}>
        {value}
      </Table.Td>
    ),
  )
