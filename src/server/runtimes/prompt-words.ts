/** Texts as one, each a paragraph; those that say nothing are left out. */
export const paragraphs = (...texts: readonly string[]): string => texts.filter(text => text.trim() !== '').join('\n\n')

/** What a model should know of its user's place; empty when nobody has said. */
export const placeOf = ({ timezone }: { readonly timezone: string | null }): string =>
  timezone === null ? '' : `The user's time zone is ${timezone}.`

/** In front of a prompt that is sent again, since its turn was cut off. */
export const goOnWords =
  'Your last turn was cut off. Look at what is done already, do not repeat it, and finish what was asked. It was:'
