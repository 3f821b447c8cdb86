import css from './compare.module.css'

/** A figure of both sides as numbers; undefined means unknown. */
export interface FigureRow {
  readonly name: string
  readonly a: number | undefined
  readonly b: number | undefined
  readonly format: (value: number) => string
}

interface Props {
  readonly label: string
  readonly nameA: string
  readonly nameB: string
  readonly rows: readonly FigureRow[]
}

/** Figures of both sides with their difference. */
export function FiguresTable({ label, nameA, nameB, rows }: Props) {
  return (
    <table className={css.figures} aria-label={label}>
      <thead>
        <tr>
          <th>
            <span className="visually-hidden">Figure</span>
          </th>
          <th scope="col">{nameA}</th>
          <th scope="col">{nameB}</th>
          <th scope="col">Difference</th>
        </tr>
      </thead>
      <tbody className="numbers">
        {rows.map(({ name, a, b, format }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{a === undefined ? 'unknown' : format(a)}</td>
            <td>{b === undefined ? 'unknown' : format(b)}</td>
            <td>{a === undefined || b === undefined ? '' : signed(b - a, format)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function signed(difference: number, format: (value: number) => string): string {
  if (difference === 0) return 'same'
  return `${difference > 0 ? '+' : '−'}${format(Math.abs(difference))}`
}
