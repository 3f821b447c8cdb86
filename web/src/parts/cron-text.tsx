import { toString as wordsOf } from 'cronstrue'

/** The words of `CronWords`. Load it lazily: it needs the library. An expression that it cannot read is shown as it is. */
export function CronText({ cron }: { readonly cron: string }) {
  const words = textOf(cron)
  return words === undefined ? <span className="mono">{cron}</span> : words
}

function textOf(cron: string): string | undefined {
  try {
    return wordsOf(cron, { use24HourTimeFormat: true })
  } catch {
    return undefined
  }
}
