import { wordsOf } from '../bytes/json-scanner.ts'

/** Types of blocks that hold images. */
export const imageTypes = new Set(['image', 'image_url', 'input_image', 'computer_screenshot'])
/** Types of blocks that hold documents, or name what is stored elsewhere. */
export const documentTypes = new Set([
  'document',
  'file',
  'input_file',
  'item_reference',
  'video_url',
  'input_video',
  'video',
])
/** Where Google's format keeps such data. */
const dataFields = ['inlineData', 'inline_data', 'fileData', 'file_data']

/** What the scan of a request reports of its words, as bits. */
export const wordBits = {
  /** Without it, and without escaped letters, a body holds no images and nothing that is elsewhere. */
  media: 1,
  /** Only part of `media`: a block of that type. */
  document: 2,
  /** The value `thinking`, as the type of a block of reasoning is written. */
  thinking: 4,
} as const

const media = [...imageTypes, ...documentTypes, ...dataFields]

/** The words that the scan of a request looks out for, so that later steps need not search the body for them. */
export const requestWords = wordsOf([
  ...media.map(text => ({ text, bit: text === 'document' ? wordBits.media | wordBits.document : wordBits.media })),
  { text: 'thinking', bit: wordBits.thinking, isValue: true },
])
