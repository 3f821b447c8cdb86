import { isRecord } from '../data/json.ts'
import css from './arguments.module.css'
import { CodeBlock, JsonBlock } from './code.tsx'
import { SafeText } from './safe-text.tsx'

interface Props {
  readonly input: unknown
  /** Lines of each argument that are shown before "show all". */
  readonly maxLines?: number
}

/** The exact arguments of a tool call, each by its name. Texts keep their lines; hidden characters are marked. */
export function Arguments({ input, maxLines = 20 }: Props) {
  if (!isRecord(input)) return <Value value={input} what="arguments" maxLines={maxLines} />
  const entries = Object.entries(input)
  if (entries.length === 0) return <p className="soft">No arguments</p>
  return (
    <dl className={css.list}>
      {entries.map(([name, value]) => (
        <div key={name} className={css.entry}>
          <dt className="mono soft">
            <SafeText text={name} />
          </dt>
          <dd className={css.value}>
            {isShort(value) ? <Short value={value} /> : <Value value={value} what={name} maxLines={maxLines} />}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const isShort = (value: unknown): boolean =>
  typeof value === 'string' ? value.length <= 80 && !value.includes('\n') : typeof value !== 'object' || value === null

/** A value that is not a text says its type, so that "1" and 1 differ. */
function Short({ value }: { readonly value: unknown }) {
  return (
    <span className="mono">
      {typeof value === 'string' ? <SafeText text={value === '' ? '""' : value} /> : JSON.stringify(value)}
      {typeof value !== 'string' && <span className="soft"> {value === null ? '' : typeof value}</span>}
    </span>
  )
}

function Value({
  value,
  what,
  maxLines,
}: {
  readonly value: unknown
  readonly what: string
  readonly maxLines: number
}) {
  if (typeof value === 'string') return <CodeBlock text={value} what={what} maxLines={maxLines} />
  return <JsonBlock value={value} what={what} />
}
