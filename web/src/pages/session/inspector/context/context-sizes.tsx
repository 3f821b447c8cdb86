import type { SessionContext } from '../../../../../../src/contract/contexts.ts'
import { count } from '../../../../parts/format.ts'
import { SafeText } from '../../../../parts/safe-text.tsx'
import css from './context.module.css'
import { sizesOf } from './sizes.ts'

/** How many tokens each kind of content takes, of the window of the model. */
export function ContextSizes({ context }: { readonly context: SessionContext }) {
  const {
    model,
    estimated_tokens: total,
    context_window: contextWindow,
    is_complete: isComplete,
    conversation,
  } = context
  const sizes = sizesOf(context)
  const most = Math.max(...sizes.map(({ tokens }) => tokens), 1)
  return (
    <>
      <p className={css.total}>
        <SafeText text={model} />{' '}
        <span className="numbers">
          about {count(total)} {contextWindow !== null && `of ${count(contextWindow)} `}tokens
        </span>
        {contextWindow !== null && <span className="soft"> ({Math.round((100 * total) / contextWindow)} %)</span>}
      </p>
      <ul className={css.sizes}>
        {sizes.map(({ name, tokens }) => (
          <li key={name} className={css.size}>
            <span>{name}</span>
            <span className={css.track} aria-hidden>
              <span className={css.bar} style={{ width: `${(100 * tokens) / most}%` }} />
            </span>
            <span className={`${css.tokens} numbers`}>{count(tokens)}</span>
          </li>
        ))}
      </ul>
      {conversation === null && <p className="soft">The runtime stores the conversation itself</p>}
      {!isComplete && <p className="soft">The runtime adds texts or tools that this service does not know</p>}
    </>
  )
}
