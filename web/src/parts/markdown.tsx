import { lazy, Suspense } from 'react'
import css from './markdown.module.css'
import { SafeText } from './safe-text.tsx'

const Rendered = lazy(() =>
  import('./markdown-rendered.tsx').then(({ MarkdownRendered }) => ({ default: MarkdownRendered })),
)

/** Markdown of models and callers as React elements; the plain text until the renderer is loaded. */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <div className={css.markdown}>
      <Suspense
        fallback={
          <p className={css.plain}>
            <SafeText text={text} />
          </p>
        }
      >
        <Rendered text={text} />
      </Suspense>
    </div>
  )
}
