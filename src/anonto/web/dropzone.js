// A file is sent as it is, in one stream; only its name goes along, for showing.
export default {
  template: `
    <div class="drop" :class="{ over: isOver }"
      @dragover.prevent="isOver = true" @dragleave.prevent="isOver = false" @drop.prevent="dropped">
      <label :for="control">{{ label }}</label>
      <input :id="control" type="file" :disabled="isBusy" @change="chosen" />
      <div v-if="isBusy" role="status">
        <div class="meter progress"><i :style="{ width: share + '%' }"></i></div>
        <small>{{ share }} % sent</small>
        <button type="button" class="button slim" @click="cancel">Stop</button>
      </div>
    </div>`,
  props: { label: String, kind: String, control: String, most: Number },
  data: () => ({ isOver: false, isBusy: false, share: 0 }),
  methods: {
    dropped(event) {
      this.isOver = false;
      if (event.dataTransfer.files.length && !this.isBusy) this.send(event.dataTransfer.files[0]);
    },
    chosen(event) {
      if (event.target.files.length) this.send(event.target.files[0]);
      event.target.value = "";
    },
    cancel() {
      if (this.request) this.request.abort();
      this.request = null;
      this.isBusy = false;
    },
    send(file) {
      if (file.size > this.most) {
        this.$emit("refused", "too large");
        return;
      }
      this.isBusy = true;
      this.share = 0;
      const request = new XMLHttpRequest();
      this.request = request;
      request.open("POST", "/upload");
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.upload.onprogress = (event) => {
        if (event.lengthComputable) this.share = Math.floor((100 * event.loaded) / event.total);
      };
      request.onload = () => {
        this.isBusy = false;
        if (request.status === 200) {
          this.$emit("uploaded", { file: JSON.parse(request.responseText).file, name: file.name });
        } else {
          this.$emit("refused", request.status === 413 ? "too large" : "not sent");
        }
      };
      request.onerror = () => {
        this.isBusy = false;
        this.$emit("refused", "not sent");
      };
      request.send(file);
    },
  },
};
