import { SafeText } from './safe-text.tsx'
import { type StyledText, styledTexts } from './sgr.ts'
import css from './terminal-text.module.css'

const classOf = ({ style }: StyledText): string =>
  [
    style.color && css[style.color],
    style.isBold && css.bold,
    style.isDim && css.dim,
    style.isItalic && css.italic,
    style.isUnderlined && css.underlined,
  ]
    .filter(Boolean)
    .join(' ')

/** Output of a terminal with its colors. Other codes vanish; hidden characters are marked. */
export function TerminalText({ text }: { readonly text: string }) {
  let from = 0
  return styledTexts(text).map(piece => {
    const key = from
    from += piece.text.length
    return (
      <span key={key} className={classOf(piece)}>
        <SafeText text={piece.text} />
      </span>
    )
  })
}
