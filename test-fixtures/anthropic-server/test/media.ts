/** The smallest bytes that pass for an image or a PDF, as base64. */

const base64 = (bytes: Buffer) => {
  const padded = Buffer.concat([bytes, Buffer.alloc((3 - (bytes.length % 3)) % 3)]);
  return padded.toString("base64");
};

export function png(width: number, height: number): string {
  const bytes = Buffer.alloc(33);
  bytes.write("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return base64(bytes);
}

export function gif(width: number, height: number): string {
  const bytes = Buffer.alloc(12);
  bytes.write("GIF89a", "latin1");
  bytes.writeUInt16LE(width, 6);
  bytes.writeUInt16LE(height, 8);
  return base64(bytes);
}

export function jpeg(width: number, height: number): string {
  const bytes = Buffer.alloc(30);
  bytes.set([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 11, 8]);
  bytes.writeUInt16BE(height, 13);
  bytes.writeUInt16BE(width, 15);
  return base64(bytes);
}

export function webp(width: number, height: number): string {
  const bytes = Buffer.alloc(30);
  bytes.write("RIFF\0\0\0\0WEBPVP8X", "latin1");
  bytes.writeUIntLE(width - 1, 24, 3);
  bytes.writeUIntLE(height - 1, 27, 3);
  return base64(bytes);
}

export function pdf(pages: number): string {
  return base64(Buffer.from(`%PDF-1.7\n/Type /Pages\n${"/Type /Page\n".repeat(pages)}`));
}
