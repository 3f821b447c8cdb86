import { useEffect, useRef } from 'react'
import css from './files.module.css'

interface Policies {
  createPolicy(
    name: string,
    rules: { readonly createHTML: (text: string) => string },
  ): {
    createHTML(text: string): unknown
  }
}

/** The policy of the page allows this name for previews only, and rejects all other markup as text. */
const policy = (globalThis as { readonly trustedTypes?: Policies }).trustedTypes?.createPolicy('preview', {
  createHTML: text => text,
})

interface Props {
  readonly text: string
  readonly path: string
}

/**
 * A page or drawing as a browser shows it, in a frame that has no rights at all: no scripts, no forms, no origin. It
 * inherits the policy of this page, so that it can load nothing from other hosts.
 */
export function Preview({ text, path }: Props) {
  const frame = useRef<HTMLIFrameElement>(null)
  useEffect(() => {
    // Not as an attribute in JSX: React would make a plain text of the trusted one, which the policy rejects.
    if (frame.current) frame.current.srcdoc = (policy?.createHTML(text) ?? text) as string
  }, [text])
  return <iframe ref={frame} className={css.preview} sandbox="" title={`Preview of ${path}`} />
}
