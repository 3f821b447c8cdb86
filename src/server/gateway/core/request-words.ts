import { wordsOf } from '../bytes/json-scanner.ts'

/** Types of image blocks. */
export const imageTypes: ReadonlySet<string> = new Set(['image', 'image_url', 'input_image', 'computer_screenshot'])
/** Types of blocks with recordings; their data is base64. */
export const audioTypes: ReadonlySet<string> = new Set(['input_audio'])
/** Types of blocks with documents, or with references to stored data. */
export const documentTypes: ReadonlySet<string> = new Set([
  'document',
  'file',
  'input_file',
  'item_reference',
  'video_url',
  'input_video',
  'video',
])
/** Fields of such data in Google's format. */
const dataFields = ['inlineData', 'inline_data', 'fileData', 'file_data']
/** Field of an earlier answer in audio, and the kind of answer that a request may ask for. */
const audioWord = 'audio'

/** Bits that the scan of a request sets for words that it finds. */
export const wordBits = {
  /** Not set: a body without escaped letters has no images, documents and references. */
  media: 1,
  /** Set together with `media`, for the type `document`. */
  document: 2,
  /** The value `thinking`, the type of a reasoning block. */
  thinking: 4,
} as const

const media = [...imageTypes, ...audioTypes, ...documentTypes, ...dataFields, audioWord]

/** Words that the scan of a request finds, so that later steps need not search the body. */
export const requestWords = wordsOf([
  ...media.map(text => ({ text, bit: text === 'document' ? wordBits.media | wordBits.document : wordBits.media })),
  { text: 'thinking', bit: wordBits.thinking, isValue: true },
])
